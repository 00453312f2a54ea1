"""PyTorch: ONNX files by both exporters at opsets 9 to 21, and state_dicts as safetensors with the manifest's [network]."""

import hashlib
import json

import numpy as np
import onnx
import torch
from safetensors.torch import save_file
from torch import nn

from kinds.onnx_case import finish
from kit import kind

LIBRARY = f"torch {torch.__version__}"
torch.set_num_threads(1)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.inner(x)


class Embeddings(nn.Module):
    """Numbers and two categories, each an input."""

    def __init__(self):
        super().__init__()
        self.shop, self.entry = nn.Embedding(20, 6), nn.Embedding(5, 3)
        self.net = nn.Sequential(nn.Linear(4 + 9, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, numbers, shop, entry):
        x = torch.cat([numbers, self.shop(shop).squeeze(1), self.entry(entry).squeeze(1)], dim=1)
        return torch.sigmoid(self.net(x)).squeeze(1)


class AutoEncoder(nn.Module):
    """The mean squared error of the row rebuilt: an anomaly score."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(10, 6), nn.Tanh(), nn.Linear(6, 3))
        self.decode = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 10))

    def forward(self, x):
        rebuilt = self.decode(self.encode(x))
        return ((x - rebuilt) ** 2).mean(dim=1), rebuilt


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.1))
        self.fraud, self.loss = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, x):
        body = self.body(x)
        return torch.softmax(self.fraud(body), dim=-1), torch.exp(self.loss(body).clamp(-4, 4))


class Attention(nn.Module):
    """Each column a token: tabular attention with one head, by its own parts."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(6, 8))
        self.q, self.k, self.v, self.norm, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 1)

    def forward(self, x):
        tokens = x.unsqueeze(-1) * self.embed
        weights = torch.softmax(self.q(tokens) @ self.k(tokens).transpose(1, 2) / 8**0.5, dim=-1)
        return torch.sigmoid(self.out(self.norm(tokens + weights @ self.v(tokens)).mean(dim=1)))


class Crosses(nn.Module):
    """A deep and cross network's layer, with what else tabular graphs are made of."""

    def __init__(self):
        super().__init__()
        self.cross, self.out = nn.Linear(8, 8), nn.Linear(24, 1)

    def forward(self, x):
        x = torch.where(torch.isnan(x), torch.zeros_like(x), x)
        crossed = x * self.cross(x) + x
        ranked, _ = torch.topk(x, 4, dim=1)
        low, high = torch.split(x, [3, 5], dim=1)
        parts = [crossed, ranked, low.abs().log1p(), high[:, ::2].clamp(min=-1), torch.stack([x.min(1).values, x.argmax(1).float()], 1), (x > 0.5).float()[:, :4]]
        return self.out(torch.cat(parts, dim=1))


def built(c, module):
    """With weights of the kind's own seed and, where there are any, running statistics as after training."""
    torch.manual_seed(c.data().random.integers(1 << 30))
    model = module()
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.running_mean.normal_(0, 0.4)
            layer.running_var.uniform_(0.5, 2)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.normal_(layer.bias)
    return model.eval()


def rows(c, width, double=False):
    random = c.data().random
    x = random.normal(size=(160, width))
    x[80:100] *= 30
    x[100:110] = 0.0
    x[101, 0] = -0.0
    x[102, :] = 1e-40
    x[110:118] = 1e30
    x[118:126] = np.where(random.random((8, width)) < 0.3, np.nan, x[118:126])
    x[126:130, 0] = [np.inf, -np.inf, np.inf, -np.inf]
    return torch.tensor(x if double else x.astype(np.float32))


def export(c, module, inputs, *, opset, dynamo, names=None, outputs=("score",), fixed=None, external=False, score=0, differs=None, after=None):
    model = built(c, module)
    if inputs[0].dtype == torch.float64:
        model = model.double()
    names = names or [f"x{n}" for n in range(len(inputs))] if len(inputs) > 1 else ["x"]
    example = tuple(i[: fixed or 2] for i in inputs)
    if fixed:
        shape = {}
    elif dynamo:
        batch = torch.export.Dim("batch")
        shape = {"dynamic_shapes": tuple({0: batch} for _ in inputs)}
    else:
        shape = {"dynamic_axes": {name: {0: "batch"} for name in [*names, *outputs]}}
    path = c.path("model.onnx")
    torch.onnx.export(
        model, example, str(path), opset_version=opset, dynamo=dynamo, input_names=names, output_names=list(outputs),
        external_data=external, **shape,
    ) if dynamo else torch.onnx.export(
        model, example, str(path), opset_version=opset, dynamo=False, input_names=names, output_names=list(outputs), **shape,
    )
    proto = onnx.load(path)
    # An exporter that could not convert leaves the newest: then this kind would not be what it is called.
    assert proto.opset_import[0].version == opset, f"opset {proto.opset_import[0].version}"
    files = ["model.onnx"]
    if external and not list(c.folder.glob("*.data")):
        onnx.save_model(proto, path, save_as_external_data=True, location="model.onnx.data", size_threshold=0)
    with torch.no_grad():
        answers = model(*inputs)
    answers = answers if isinstance(answers, tuple) else (answers,)
    native = {name: answer.numpy().reshape(len(inputs[0]), -1) for name, answer in zip(outputs, answers)}
    feeds = {name: i.numpy() for name, i in zip(names, inputs)}
    finish(c, None, feeds, LIBRARY, native=native, differs=differs, score=None if score is None else (outputs[0], score), batch=fixed, files=files)


def mlp(*widths, activation=nn.ReLU, last=nn.Sigmoid, between=None):
    layers = []
    for n, (a, b) in enumerate(zip(widths, widths[1:])):
        layers.append(nn.Linear(a, b))
        if n < len(widths) - 2:
            layers += [between(b)] if between else []
            layers.append(activation())
    return nn.Sequential(*layers, *([last()] if last else []))


@kind
def torch_mlp_9(c): export(c, lambda: mlp(12, 16, 8, 1), [rows(c, 12)], opset=9, dynamo=False)
@kind
def torch_mlp_11_fixed_1(c): export(c, lambda: mlp(12, 16, 8, 1, activation=nn.Tanh), [rows(c, 12)], opset=11, dynamo=False, fixed=1)
@kind
def torch_mlp_13_fixed_16(c): export(c, lambda: mlp(12, 16, 8, 1, activation=nn.ELU), [rows(c, 12)], opset=13, dynamo=False, fixed=16)
@kind
def torch_mlp_17(c): export(c, lambda: mlp(12, 16, 8, 1, activation=nn.GELU), [rows(c, 12)], opset=17, dynamo=False)
@kind
def torch_mlp_18(c): export(c, lambda: mlp(12, 16, 8, 1, activation=nn.SiLU), [rows(c, 12)], opset=18, dynamo=True)
@kind
def torch_mlp_20_gelu(c): export(c, lambda: mlp(12, 16, 8, 1, activation=nn.GELU), [rows(c, 12)], opset=20, dynamo=True)
@kind
def torch_mlp_21_gelu_tanh(c): export(c, lambda: mlp(12, 16, 8, 1, activation=lambda: nn.GELU("tanh")), [rows(c, 12)], opset=21, dynamo=True)
@kind
def torch_mlp_double(c): export(c, lambda: mlp(12, 16, 8, 1), [rows(c, 12, double=True)], opset=17, dynamo=False)
@kind
def torch_mlp_logit(c): export(c, lambda: mlp(12, 16, 1, last=None), [rows(c, 12)], opset=14, dynamo=False)
@kind
def torch_mlp_external(c): export(c, lambda: mlp(12, 64, 64, 1), [rows(c, 12)], opset=18, dynamo=True, external=True)
@kind
def torch_mlp_external_old(c): export(c, lambda: mlp(12, 64, 64, 1), [rows(c, 12)], opset=12, dynamo=False, external=True)
@kind
def torch_softmax(c): export(c, lambda: mlp(12, 16, 4, last=lambda: nn.Softmax(dim=1)), [rows(c, 12)], opset=16, dynamo=False, score=None)
@kind
def torch_log_softmax(c): export(c, lambda: mlp(12, 16, 4, last=lambda: nn.LogSoftmax(dim=-1)), [rows(c, 12)], opset=11, dynamo=False, score=None)
@kind
def torch_batch_norm(c): export(c, lambda: mlp(12, 16, 8, 1, between=nn.BatchNorm1d), [rows(c, 12)], opset=12, dynamo=False)
@kind
def torch_batch_norm_first(c): export(c, lambda: nn.Sequential(nn.BatchNorm1d(12), mlp(12, 16, 1)), [rows(c, 12)], opset=19, dynamo=True)
@kind
def torch_layer_norm_9(c): export(c, lambda: mlp(12, 16, 8, 1, between=nn.LayerNorm), [rows(c, 12)], opset=9, dynamo=False)
@kind
def torch_layer_norm(c): export(c, lambda: mlp(12, 16, 8, 1, between=nn.LayerNorm), [rows(c, 12)], opset=18, dynamo=True)
@kind
def torch_dropout(c): export(c, lambda: mlp(12, 16, 8, 1, between=lambda _: nn.Dropout(0.3)), [rows(c, 12)], opset=13, dynamo=False)
@kind
def torch_residual(c): export(c, lambda: nn.Sequential(nn.Linear(12, 16), Residual(16), Residual(16), nn.Linear(16, 1)), [rows(c, 12)], opset=15, dynamo=False)
@kind
def torch_activations(c): export(c, lambda: nn.Sequential(nn.Linear(12, 9), nn.Softplus(), nn.Linear(9, 9), nn.Hardsigmoid(), nn.Linear(9, 9), nn.Hardswish(), nn.Linear(9, 9), nn.PReLU(9), nn.Linear(9, 9), nn.SELU(), nn.Linear(9, 9), nn.Mish(), nn.Linear(9, 9), nn.ReLU6(), nn.Linear(9, 9), nn.Softsign(), nn.Linear(9, 9), nn.CELU(0.7), nn.Linear(9, 1)), [rows(c, 12)], opset=17, dynamo=False)
@kind
def torch_two_heads(c): export(c, TwoHeads, [rows(c, 8)], opset=14, dynamo=False, outputs=("class", "loss"), score=None)
@kind
def torch_auto_encoder(c): export(c, AutoEncoder, [rows(c, 10)], opset=17, dynamo=False, outputs=("error", "rebuilt"), score=None)
@kind
def torch_auto_encoder_new(c): export(c, AutoEncoder, [rows(c, 10)], opset=21, dynamo=True, outputs=("error", "rebuilt"), score=None)
@kind
def torch_attention(c): export(c, Attention, [rows(c, 6)], opset=17, dynamo=False)
@kind
def torch_attention_new(c): export(c, Attention, [rows(c, 6)], opset=18, dynamo=True)
@kind
def torch_crosses(c): export(c, Crosses, [rows(c, 8)], opset=16, dynamo=False)
@kind
def torch_crosses_new(c): export(c, Crosses, [rows(c, 8)], opset=20, dynamo=True)


def categories(c):
    random = c.data().random
    numbers = rows(c, 4)
    return [numbers, torch.tensor(random.integers(0, 20, (len(numbers), 1))), torch.tensor(random.integers(0, 5, (len(numbers), 1)))]


@kind
def torch_embedding_11(c): export(c, Embeddings, categories(c), opset=11, dynamo=False, names=["numbers", "shop", "entry"])
@kind
def torch_embedding_18(c): export(c, Embeddings, categories(c), opset=18, dynamo=True, names=["numbers", "shop", "entry"])
@kind
def torch_embedding_fixed(c): export(c, Embeddings, categories(c), opset=16, dynamo=False, names=["numbers", "shop", "entry"], fixed=4)


# safetensors: the manifest says the layers, the tensors are named as in the state_dict.
class Net(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


NAMES = {nn.ReLU: "relu", nn.LeakyReLU: "leaky-relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid", nn.SiLU: "silu", nn.Softmax: "softmax"}


def state_dict(c, layers, width, output):
    model = built(c, lambda: Net(*layers()))
    save_file(model.state_dict(), c.path("model.safetensors"))
    lines = []
    for n, layer in enumerate(model.net):
        if isinstance(layer, nn.Linear):
            lines.append(f'{{ linear = "net.{n}" }}')
        elif isinstance(layer, nn.BatchNorm1d):
            lines.append(f'{{ batch-norm = "net.{n}", eps = {layer.eps} }}')
        elif isinstance(layer, nn.GELU):
            lines.append(f'{{ activation = "gelu{"-tanh" if layer.approximate == "tanh" else ""}" }}')
        elif isinstance(layer, nn.LeakyReLU):
            lines.append(f'{{ activation = "leaky-relu", slope = {layer.negative_slope} }}')
        elif not isinstance(layer, nn.Dropout):
            lines.append(f'{{ activation = "{NAMES[type(layer)]}" }}')
    digest = hashlib.sha256(c.path("model.safetensors").read_bytes()).hexdigest()
    names = [f"X{n}" for n in range(width)]
    features = "".join(f'\n[[feature]]\nname = "{name}"\nfrom = "/{name}"\nmissing = "nan"\n' for name in names)
    network = f'[network]\noutput = {json.dumps(output)}\nlayers = [\n' + "".join(f"  {line},\n" for line in lines) + "]\n"
    c.path("model.toml").write_text(
        f'name = "{c.name}"\nversion = "1"\nformat = "safetensors"\nfile = "model.safetensors"\nsha256 = "{digest}"\n\n'
        f'[decision]\nblock = 0.9\notherwise = "allow"\nfallback = "review"\n{features}\n{network}'
    )
    x = rows(c, width)
    with torch.no_grad():
        answer = model(x)
        if output == "logit":
            answer = torch.sigmoid(answer)
    # A row with a missing number or an infinity has no score in a dense network.
    answer = answer.numpy().reshape(len(x), -1)
    c.write(["model.toml"], {name: x.numpy()[:, n] for n, name in enumerate(names)}, library=LIBRARY, score=answer[:, 0])


@kind
def torch_state_dict(c): state_dict(c, lambda: [nn.Linear(10, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 1)], 10, "logit")
@kind
def torch_state_dict_batch_norm(c): state_dict(c, lambda: [nn.BatchNorm1d(10), nn.Linear(10, 16), nn.BatchNorm1d(16, eps=1e-3), nn.SiLU(), nn.Linear(16, 1), nn.Sigmoid()], 10, "probability")
@kind
def torch_state_dict_gelu(c): state_dict(c, lambda: [nn.Linear(10, 33), nn.GELU(), nn.Linear(33, 17), nn.GELU("tanh"), nn.Linear(17, 5), nn.LeakyReLU(0.2), nn.Linear(5, 1)], 10, "raw")
