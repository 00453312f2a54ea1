"""scikit-learn by skl2onnx, as one matrix of floats or doubles, or as a frame of columns of several types."""

import numpy as np
import pandas as pd
import sklearn
from onnx import TensorProto
from onnx.helper import make_node
from skl2onnx import convert_sklearn
from skl2onnx.common import _container
from skl2onnx.common.data_types import DictionaryType, DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier,
    GradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest, RandomForestClassifier,
    RandomForestRegressor, StackingClassifier, VotingClassifier, VotingRegressor,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    BayesianRidge, ElasticNet, GammaRegressor, HuberRegressor, Lasso, LinearRegression, LogisticRegression, Perceptron, PoissonRegressor, Ridge,
    RidgeClassifier, SGDClassifier, SGDRegressor, TweedieRegressor,
)
from sklearn.mixture import GaussianMixture
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer, FunctionTransformer, KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures,
    PowerTransformer, RobustScaler, StandardScaler,
)
from sklearn.svm import NuSVC, OneClassSVM, SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from kinds.onnx_case import finish
from kit import awkward_rows, kind

# The exporter hands on NumPy's booleans, which this version of onnx does not take for integers.
_container.make_node = lambda *args, **kwargs: make_node(
    *args, **{key: [int(v) for v in value] if key == "nodes_missing_value_tracks_true" else value for key, value in kwargs.items()}
)
LIBRARY = f"scikit-learn {sklearn.__version__}"
TEXTS = np.array(["genuine", "doubtful", "stolen", "lost ünï"])


def tree_thresholds(model):
    """(column, threshold) of every tree in an ensemble."""
    if type(model).__module__.startswith("sklearn.ensemble._stacking"):
        return []
    trees = np.ravel(getattr(model, "estimators_", [model]))
    return [
        (f, t)
        for tree in trees[:20] if hasattr(tree, "tree_")
        for f, t in zip(tree.tree_.feature, tree.tree_.threshold) if f >= 0
    ]


def ask(model, x, taken, classifier):
    """The library's answers by our output names; NaN (or no text) for rows it does not take."""
    def full(values):
        values = np.asarray(values).reshape(taken.sum(), -1)
        if values.dtype.kind in "OUS":
            table = np.full((len(taken), values.shape[1]), "", object)
        else:
            table = np.full((len(taken), values.shape[1]), np.nan)
        table[taken] = values
        return table

    given = x[taken]
    if not classifier and hasattr(model, "decision_function"):
        return {"label": full(model.predict(given)), "scores": full(model.decision_function(given))}
    if not classifier:
        return {"variable": full(model.transform(given) if not hasattr(model, "predict") else model.predict(given))}
    if hasattr(model, "predict_proba"):
        values = model.predict_proba(given)
    else:
        values = model.decision_function(given)
        # Of two classes a support vector machine's file gives both scores, the first with the library's sign.
        values = np.stack([values, -values], 1) if values.ndim == 1 and isinstance(model, (SVC, NuSVC)) else values
    return {"label": full(model.predict(given)), "probabilities": full(values)}


def numbers(c, model, target, *, width=8, missing=0.0, double=False, options=None, differs=None, compare=True, rows=None, score="auto", opset=None, kept=None, may_refuse=None, **data_options):
    """A model on one matrix X."""
    data = c.data(width=width, missing=missing, **data_options)
    if kept is not None:
        data.x = kept(data.x)
    x = data.x if double else data.x.astype(np.float32)
    model.fit(x, target(data)) if target else model.fit(x)
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    asked = awkward_rows(data, tree_thresholds(last) if last is model else (), f32=not double, nan=True, infinite=True) if rows is None else rows(data)
    if kept is not None:
        asked = np.nan_to_num(kept(asked), nan=0.5, posinf=3.0, neginf=-3.0)
    asked = asked if double else asked.astype(np.float32)
    kind = DoubleTensorType if double else FloatTensorType
    classifier = hasattr(model, "classes_") or hasattr(last, "classes_")
    # At the model's own identity: options go to the last step.
    onnx_model = convert_sklearn(model, initial_types=[("X", kind([None, x.shape[1]]))], options={id(last): options} if options else None, target_opset=opset)
    if double and any(node.op_type == "TreeEnsembleRegressor" for node in onnx_model.graph.node):
        # Declared as double by the exporter, float by the operator's definition; ONNX Runtime refuses the former.
        onnx_model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    with np.errstate(all="ignore"):
        taken = np.isfinite(asked).all(1) & (np.abs(asked).max(1) < 1e15)
        if missing:
            taken |= np.isfinite(asked).any(1) & ~np.isinf(asked).any(1) & (np.nan_to_num(np.abs(asked)).max(1) < 1e15)
    native = ask(model, asked, taken, classifier) if compare else None
    names = [o.name for o in onnx_model.graph.output]
    if native:
        native = dict(zip(names, native.values()))
    if score == "auto":
        score = (names[-1], 1) if classifier and len(model.classes_) == 2 and hasattr(model, "predict_proba") else None if classifier else (names[0], 0)
        if native and not classifier and native[names[0]].shape[1] != 1:
            score = None
    meta = {"may-refuse": may_refuse} if may_refuse else {}
    if classifier and not hasattr(model, "predict_proba") or isinstance(model, OneClassSVM):
        # Decision values, not probabilities: hundreds of f32 terms that nearly cancel.
        # Of the polynomial kernel the terms add up to 750 for a value below 1.
        meta["absolute"] = 5e-5 if getattr(model, "kernel", None) == "poly" else 5e-6
    finish(c, onnx_model, {"X": asked}, LIBRARY, native=native, differs=differs, score=score, **meta)


def binary(data): return data.binary
def classes(data): return data.classes
def signal(data): return data.signal
def texts(data): return TEXTS[data.classes]
def two_texts(data): return TEXTS[data.binary]


TENSOR = {"zipmap": False}


@kind
def sklearn_logistic(c): numbers(c, LogisticRegression(), binary, options=TENSOR)
@kind
def sklearn_logistic_zipmap(c): numbers(c, LogisticRegression(), binary)
@kind
def sklearn_logistic_zipmap_columns(c): numbers(c, LogisticRegression(), classes, options={"zipmap": "columns"}, compare=False, score=None)
@kind
def sklearn_logistic_double(c): numbers(c, LogisticRegression(), binary, options=TENSOR, double=True)
@kind
def sklearn_logistic_multiclass(c): numbers(c, LogisticRegression(), classes, options=TENSOR)
@kind
def sklearn_logistic_texts(c): numbers(c, LogisticRegression(), texts)
@kind
def sklearn_logistic_two_texts(c): numbers(c, LogisticRegression(), two_texts, options=TENSOR)
@kind
def sklearn_logistic_raw(c): numbers(c, LogisticRegression(), binary, options={"zipmap": False, "raw_scores": True}, compare=False, score=None)
@kind
def sklearn_ovr(c): numbers(c, OneVsRestClassifier(LogisticRegression()), classes, options=TENSOR)
@kind
def sklearn_linear(c): numbers(c, LinearRegression(), signal)
@kind
def sklearn_linear_double(c): numbers(c, LinearRegression(), signal, double=True)
@kind
def sklearn_linear_two_targets(c): numbers(c, LinearRegression(), lambda d: np.stack([d.signal, d.positive], 1))
@kind
def sklearn_ridge(c): numbers(c, Ridge(), signal)
@kind
def sklearn_lasso(c): numbers(c, Lasso(0.05), signal)
@kind
def sklearn_elastic_net(c): numbers(c, ElasticNet(0.05), signal)
@kind
def sklearn_bayesian_ridge(c): numbers(c, BayesianRidge(), signal)
@kind
def sklearn_huber(c): numbers(c, HuberRegressor(max_iter=500), signal)
@kind
def sklearn_poisson(c): numbers(c, PoissonRegressor(), lambda d: d.counts, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_gamma(c): numbers(c, GammaRegressor(), lambda d: d.positive, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_tweedie(c): numbers(c, TweedieRegressor(power=1.5), lambda d: d.counts, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_ridge_classifier(c): numbers(c, RidgeClassifier(), binary, options=TENSOR, score=None)
@kind
def sklearn_sgd(c): numbers(c, SGDClassifier(loss="log_loss", random_state=1), binary, options=TENSOR)
@kind
def sklearn_sgd_huber(c): numbers(c, SGDClassifier(loss="modified_huber", random_state=1), classes, options=TENSOR, differs="a tie among clipped scores falls another way")
@kind
def sklearn_sgd_regressor(c): numbers(c, SGDRegressor(random_state=1), signal, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_perceptron(c): numbers(c, Perceptron(random_state=1), classes, options=TENSOR, score=None)
@kind
def sklearn_linear_svc(c): numbers(c, LinearSVC(random_state=1), classes, score=None)
@kind
def sklearn_linear_svr(c): numbers(c, LinearSVR(random_state=1), signal)
@kind
def sklearn_lda(c): numbers(c, LinearDiscriminantAnalysis(), classes, options=TENSOR)
@kind
def sklearn_qda(c): numbers(c, QuadraticDiscriminantAnalysis(), classes, options=TENSOR, kept=lambda x: np.clip(x, -5, 5), differs="sums of f32")

# Before a logistic regression or a tree.
@kind
def sklearn_standard_scaler(c): numbers(c, make_pipeline(StandardScaler(), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_standard_scaler_double(c): numbers(c, make_pipeline(StandardScaler(), LogisticRegression()), binary, options=TENSOR, double=True)
@kind
def sklearn_standard_scaler_no_mean(c): numbers(c, make_pipeline(StandardScaler(with_mean=False), LogisticRegression()), binary)
@kind
def sklearn_min_max_scaler(c): numbers(c, make_pipeline(MinMaxScaler((-1, 1), clip=True), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_robust_scaler(c): numbers(c, make_pipeline(RobustScaler(), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_max_abs_scaler(c): numbers(c, make_pipeline(MaxAbsScaler(), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_normalizer_l2(c): numbers(c, make_pipeline(Normalizer("l2"), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_normalizer_l1(c): numbers(c, make_pipeline(Normalizer("l1"), LogisticRegression()), binary, options=TENSOR, differs="rows whose norm is denormal")
@kind
def sklearn_normalizer_max(c): numbers(c, make_pipeline(Normalizer("max"), LogisticRegression()), binary, options=TENSOR, differs="max without abs")
@kind
def sklearn_binarizer(c): numbers(c, make_pipeline(Binarizer(threshold=0.25), LogisticRegression()), binary, options=TENSOR, kept=lambda x: x)
@kind
def sklearn_imputer_mean(c): numbers(c, make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()), binary, missing=0.1, options=TENSOR)
@kind
def sklearn_imputer_constant(c): numbers(c, make_pipeline(SimpleImputer(strategy="constant", fill_value=-7), LogisticRegression()), binary, missing=0.1, options=TENSOR)
@kind
def sklearn_imputer_indicator(c): numbers(c, make_pipeline(SimpleImputer(strategy="median"), DecisionTreeClassifier(max_depth=6, random_state=1)), binary, missing=0.1, options=TENSOR)
@kind
def sklearn_bins_onehot(c): numbers(c, make_pipeline(KBinsDiscretizer(6, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), LogisticRegression()), binary, options=TENSOR, kept=lambda x: x)
@kind
def sklearn_bins_ordinal(c): numbers(c, make_pipeline(KBinsDiscretizer(6, encode="ordinal", strategy="uniform"), LogisticRegression()), binary, options=TENSOR, kept=lambda x: x)
@kind
def sklearn_polynomial(c): numbers(c, make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression(max_iter=500)), binary, options=TENSOR, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_pca(c): numbers(c, make_pipeline(StandardScaler(), PCA(4), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_svd(c): numbers(c, make_pipeline(TruncatedSVD(4, random_state=1), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_power(c): numbers(c, make_pipeline(PowerTransformer(), LogisticRegression()), binary, options=TENSOR, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_select_k_best(c): numbers(c, make_pipeline(VarianceThreshold(), SelectKBest(k=5), LogisticRegression()), binary, options=TENSOR)
@kind
def sklearn_union(c): numbers(c, make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler()), ("c", PCA(2))]), Ridge()), signal)
@kind
def sklearn_transformer_only(c): numbers(c, make_pipeline(SimpleImputer(), StandardScaler()), None, missing=0.1)

# Trees.
@kind
def sklearn_tree(c): numbers(c, DecisionTreeClassifier(max_depth=7, random_state=1), classes, options=TENSOR)
@kind
def sklearn_tree_regressor(c): numbers(c, DecisionTreeRegressor(random_state=1), signal)
@kind
def sklearn_tree_double(c): numbers(c, DecisionTreeRegressor(max_depth=7, random_state=1), signal, double=True, differs="the library cuts inputs to f32, the file does not")
@kind
def sklearn_extra_tree(c): numbers(c, ExtraTreeClassifier(max_depth=7, random_state=1), two_texts)
@kind
def sklearn_tree_paths(c): numbers(c, DecisionTreeClassifier(max_depth=5, random_state=1), binary, options={"zipmap": False, "decision_leaf": True}, compare=False, score=None)
@kind
def sklearn_forest(c): numbers(c, RandomForestClassifier(40, max_depth=8, random_state=1), binary, options=TENSOR)
@kind
def sklearn_forest_zipmap(c): numbers(c, RandomForestClassifier(20, random_state=1), texts)
@kind
def sklearn_forest_missing(c): numbers(c, RandomForestClassifier(20, random_state=1), binary, missing=0.1, options=TENSOR, differs="the side of a missing value is not exported")
@kind
def sklearn_forest_regressor(c): numbers(c, RandomForestRegressor(20, random_state=1), signal)
@kind
def sklearn_forest_regressor_two(c): numbers(c, RandomForestRegressor(10, random_state=1), lambda d: np.stack([d.signal, d.positive], 1))
@kind
def sklearn_extra_trees(c): numbers(c, ExtraTreesClassifier(30, random_state=1), classes, options=TENSOR)
@kind
def sklearn_extra_trees_regressor(c): numbers(c, ExtraTreesRegressor(20, random_state=1), signal)
@kind
def sklearn_gradient_boosting(c): numbers(c, GradientBoostingClassifier(n_estimators=30, random_state=1), binary, options=TENSOR)
@kind
def sklearn_gradient_boosting_multiclass(c): numbers(c, GradientBoostingClassifier(n_estimators=15, random_state=1), classes, options=TENSOR)
@kind
def sklearn_gradient_boosting_regressor(c): numbers(c, GradientBoostingRegressor(n_estimators=30, random_state=1), signal)
@kind
def sklearn_hist_gradient_boosting(c): numbers(c, HistGradientBoostingClassifier(max_iter=20, random_state=1), binary, missing=0.1, options=TENSOR)
@kind
def sklearn_hist_gradient_boosting_regressor(c): numbers(c, HistGradientBoostingRegressor(max_iter=20, random_state=1), signal, missing=0.1)
@kind
def sklearn_ada_boost(c): numbers(c, AdaBoostClassifier(n_estimators=10, random_state=1), classes, options=TENSOR)
@kind
def sklearn_ada_boost_regressor(c): numbers(c, AdaBoostRegressor(n_estimators=10, random_state=1), signal, differs="a median of equal sums may fall on the tree beside")
@kind
def sklearn_bagging(c): numbers(c, BaggingClassifier(DecisionTreeClassifier(max_depth=5), n_estimators=5, random_state=1), binary, options=TENSOR)
@kind
def sklearn_isolation_forest(c): numbers(c, IsolationForest(n_estimators=20, random_state=1), None, score=None, opset={"": 20, "ai.onnx.ml": 3})
@kind
def sklearn_isolation_forest_samples(c): numbers(c, IsolationForest(n_estimators=20, random_state=1), None, options={"score_samples": True}, compare=False, score=None, opset={"": 20, "ai.onnx.ml": 3})

# Kernels, neighbours, networks, Bayes.
@kind
def sklearn_svc(c): numbers(c, SVC(), classes, score=None, options=TENSOR)
@kind
def sklearn_svc_probability(c): numbers(c, SVC(probability=True, random_state=1), binary, options=TENSOR, differs="probabilities by another method of coupling")
@kind
def sklearn_svc_probability_multiclass(c): numbers(c, SVC(probability=True, random_state=1), classes, options=TENSOR, differs="probabilities by another method of coupling")
@kind
def sklearn_svc_poly(c): numbers(c, SVC(kernel="poly", degree=2, coef0=1), binary, score=None, options=TENSOR, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_svc_linear_texts(c): numbers(c, SVC(kernel="linear"), texts, score=None, options=TENSOR, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_nu_svc_sigmoid(c): numbers(c, NuSVC(kernel="sigmoid", nu=0.2), binary, score=None, options=TENSOR, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_svr(c): numbers(c, SVR(), signal, differs="a sum in f32 that nearly cancels")
@kind
def sklearn_one_class_svm(c): numbers(c, OneClassSVM(nu=0.1), None, differs="a sum in f32 that nearly cancels", score=None)
@kind
def sklearn_neighbors(c): numbers(c, KNeighborsClassifier(5), classes, options=TENSOR, differs="ties among neighbours", kept=lambda x: np.clip(x, -5, 5), may_refuse="subgraphs")
@kind
def sklearn_neighbors_regressor(c): numbers(c, KNeighborsRegressor(5, weights="distance"), signal, differs="distances of f32", kept=lambda x: np.clip(x, -5, 5), may_refuse="subgraphs")
@kind
def sklearn_local_outlier_factor(c): numbers(c, LocalOutlierFactor(novelty=True), None, score=None, kept=lambda x: np.clip(x, -5, 5), may_refuse="subgraphs")
@kind
def sklearn_mlp(c): numbers(c, MLPClassifier((16, 8), max_iter=60, random_state=1), binary, options=TENSOR)
@kind
def sklearn_mlp_multiclass(c): numbers(c, MLPClassifier((16,), activation="tanh", max_iter=60, random_state=1), texts)
@kind
def sklearn_mlp_regressor(c): numbers(c, make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(16,), activation="logistic", max_iter=60, random_state=1)), signal)
@kind
def sklearn_gaussian_nb(c): numbers(c, GaussianNB(), classes, options=TENSOR, differs="sums of f32", kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_bernoulli_nb(c): numbers(c, BernoulliNB(binarize=0.2), binary, options=TENSOR, kept=lambda x: x)
@kind
def sklearn_multinomial_nb(c): numbers(c, MultinomialNB(), classes, options=TENSOR, kept=lambda x: np.clip(np.abs(x), 0, 9))
@kind
def sklearn_complement_nb(c): numbers(c, ComplementNB(), classes, options=TENSOR, differs="sums of f32", kept=lambda x: np.clip(np.abs(x), 0, 9))
@kind
def sklearn_gaussian_mixture(c): numbers(c, GaussianMixture(3, random_state=1), None, compare=False, score=None, kept=lambda x: np.clip(x, -5, 5))
@kind
def sklearn_gaussian_process(c): numbers(c, GaussianProcessRegressor(alpha=0.1), signal, rows=lambda d: d.x[:60], differs="a sum of 120 terms in f32 that nearly cancel", may_refuse="subgraphs")

# Of several models.
@kind
def sklearn_calibrated_sigmoid(c): numbers(c, CalibratedClassifierCV(RandomForestClassifier(10, random_state=1), cv=3), binary, options=TENSOR)
@kind
def sklearn_calibrated_isotonic(c): numbers(c, CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=3), binary, options=TENSOR, differs="a table looked up at f32")
@kind
def sklearn_voting(c): numbers(c, VotingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=4, random_state=1))], voting="soft", flatten_transform=False), classes, options=TENSOR)
@kind
def sklearn_voting_regressor(c): numbers(c, VotingRegressor([("a", LinearRegression()), ("b", DecisionTreeRegressor(max_depth=4, random_state=1))]), signal)
@kind
def sklearn_stacking(c): numbers(c, StackingClassifier([("a", LogisticRegression()), ("b", RandomForestClassifier(10, random_state=1))], cv=3), binary, options=TENSOR)
@kind
def sklearn_opset_9(c): numbers(c, make_pipeline(StandardScaler(), LogisticRegression()), classes, options=TENSOR, opset={"": 9, "ai.onnx.ml": 1})
@kind
def sklearn_opset_12(c): numbers(c, make_pipeline(SimpleImputer(), RandomForestClassifier(10, random_state=1)), binary, opset={"": 12, "ai.onnx.ml": 2}, missing=0.1)
@kind
def sklearn_opset_15(c): numbers(c, make_pipeline(StandardScaler(), MLPClassifier((9,), max_iter=50, random_state=1)), binary, options=TENSOR, opset={"": 15, "ai.onnx.ml": 3})
@kind
def sklearn_opset_21(c): numbers(c, make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=9, random_state=1)), binary, options=TENSOR, opset={"": 21, "ai.onnx.ml": 3})


# Frames: an input a column, of several types.
SHOPS, ENTRIES = np.array(["grocery", "fuel", "travel", "cash & co", "ünï"]), np.array(["chip", "stripe", "online"])


def frame(data, x, unseen=False):
    random = np.random.default_rng(len(x))
    shops, entries = SHOPS[random.integers(0, 5, len(x))], ENTRIES[random.integers(0, 3, len(x))]
    hours = random.integers(0, 24, len(x))
    if unseen:
        shops[::7], entries[3::11], hours[::5] = "never seen", "", 99
        shops[1::13] = "Grocery"
    return pd.DataFrame({"amount": x[:, 1], "distance": x[:, 0], "ratio": x[:, 2], "shop": shops, "entry": entries, "hour": hours})


def mixed(c, transformer, model, target=binary, types=None, options=TENSOR, differs=None, opset=None, missing=0.0, double=()):
    data = c.data(missing=missing)
    training = frame(data, data.x)
    pipeline = make_pipeline(transformer, model).fit(training, target(data))
    asked = frame(data, awkward_rows(data, nan=bool(missing), infinite=False, f32=True), unseen=True)
    for column in ("amount", "distance", "ratio"):
        if column not in double:
            asked[column] = asked[column].to_numpy(np.float32)
    kinds = {"shop": StringTensorType, "entry": StringTensorType, "hour": Int64TensorType}
    kinds |= {name: DoubleTensorType for name in double}
    types = [(name, kinds.get(name, FloatTensorType)([None, 1])) for name in training]
    onnx_model = convert_sklearn(pipeline, initial_types=types, options={id(model): options} if options else None, target_opset=opset)
    feeds = {}
    for name, kind_ in types:
        values = asked[name].to_numpy()
        feeds[name] = (values.astype(str).astype(object) if isinstance(kind_, StringTensorType) else values).reshape(-1, 1)
    numbers_ = asked[["amount", "distance", "ratio"]].to_numpy(float)
    taken = (np.nan_to_num(np.abs(numbers_)) < 1e15).all(1)
    classifier = hasattr(model, "classes_")
    native = dict(zip([o.name for o in onnx_model.graph.output], ask(pipeline, asked, taken, classifier).values()))
    used = {name: feed for name, feed in feeds.items() if name in [i.name for i in onnx_model.graph.input]}
    last = list(native)[-1]
    score = (last, 1) if classifier and len(model.classes_) == 2 else None if classifier else (last, 0)
    finish(c, onnx_model, used, LIBRARY, native=native, differs=differs, score=score)


def onehot(**options):
    return OneHotEncoder(handle_unknown="ignore", sparse_output=False, **options)


@kind
def sklearn_frame(c):
    mixed(c, ColumnTransformer([("n", StandardScaler(), ["amount", "distance", "ratio"]), ("c", onehot(), ["shop", "entry"])]), LogisticRegression())
@kind
def sklearn_frame_int(c):
    mixed(c, ColumnTransformer([("n", StandardScaler(), ["amount", "distance", "ratio"]), ("h", onehot(), ["hour"])]), LogisticRegression())
@kind
def sklearn_frame_all(c):
    numbers_ = make_pipeline(SimpleImputer(strategy="median"), RobustScaler())
    mixed(c, ColumnTransformer([("n", numbers_, ["amount", "distance", "ratio"]), ("c", onehot(drop=None), ["shop", "entry"]), ("h", onehot(), ["hour"])]), RandomForestClassifier(20, random_state=1), missing=0.1)
@kind
def sklearn_frame_passthrough(c):
    mixed(c, ColumnTransformer([("c", onehot(), ["shop"]), ("n", "passthrough", ["amount", "ratio"])]), GradientBoostingClassifier(n_estimators=20, random_state=1), target=classes)
@kind
def sklearn_frame_ordinal(c):
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    mixed(c, ColumnTransformer([("c", ordinal, ["shop", "entry"]), ("n", "passthrough", ["amount"])]), RandomForestClassifier(20, random_state=1), differs="an unseen category is not -1 in the file")
@kind
def sklearn_frame_regressor(c):
    mixed(c, ColumnTransformer([("n", MinMaxScaler(), ["amount", "distance"]), ("c", onehot(), ["shop"])]), Ridge(), target=signal, options=None)
@kind
def sklearn_frame_double(c):
    mixed(c, ColumnTransformer([("n", StandardScaler(), ["amount", "distance"]), ("c", onehot(), ["shop", "entry"])]), LogisticRegression(), double=("amount", "distance", "ratio"))
@kind
def sklearn_frame_texts(c):
    mixed(c, ColumnTransformer([("n", StandardScaler(), ["amount", "distance"]), ("c", onehot(), ["shop", "entry"])]), MLPClassifier((8,), max_iter=50, random_state=1), target=texts)


@kind
def sklearn_strings_matrix(c):
    """One input of texts with two columns."""
    data = c.data(missing=0.0)
    table = frame(data, data.x)[["shop", "entry"]].to_numpy(object)
    model = make_pipeline(onehot(), LogisticRegression()).fit(table, data.binary)
    onnx_model = convert_sklearn(model, initial_types=[("X", StringTensorType([None, 2]))], options={id(model.steps[-1][1]): TENSOR})
    asked = frame(data, data.x[:90], unseen=True)[["shop", "entry"]].to_numpy(str).astype(object)
    native = dict(zip([o.name for o in onnx_model.graph.output], ask(model, asked, np.ones(len(asked), bool), True).values()))
    finish(c, onnx_model, {"X": asked}, LIBRARY, native=native, score=(list(native)[-1], 1))


@kind
def sklearn_epoch_seconds(c):
    """Seconds since 1970 as double: cut to f32 before they are scaled they would be minutes off."""
    data = c.data(missing=0.0)
    seconds = lambda x: np.stack([1.53e9 + np.clip(x[:, 0], -5, 5) * 86400, np.clip(x[:, 1], 0, 9)], 1)
    x = seconds(data.x)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100)).fit(x, data.binary)
    onnx_model = convert_sklearn(model, initial_types=[("X", DoubleTensorType([None, 2]))], options={id(model.steps[-1][1]): TENSOR})
    asked = np.round(seconds(awkward_rows(data, nan=False, infinite=False)))
    native = dict(zip([o.name for o in onnx_model.graph.output], ask(model, asked, np.ones(len(asked), bool), True).values()))
    finish(c, onnx_model, {"X": asked}, LIBRARY, native=native, score=(list(native)[-1], 1))


@kind
def sklearn_dict_vectorizer(c):
    """Its input is a map, whose keys are the columns. ONNX Runtime takes such a map a row at a time; the library answers."""
    data = c.data(missing=0.0)
    x = data.x[:, :2].astype(np.float32)
    rows = [{"a": float(a), "b": float(b)} for a, b in x]
    model = make_pipeline(DictVectorizer(sparse=False), LogisticRegression()).fit(rows, data.binary)
    kinds = [("X", DictionaryType(StringTensorType([1]), FloatTensorType([1])))]
    onnx_model = convert_sklearn(model, initial_types=kinds, options={id(model.steps[-1][1]): TENSOR})
    c.path("model.onnx").write_bytes(onnx_model.SerializeToString())
    names = [o.name for o in onnx_model.graph.output]
    asked = rows[:90]
    answers = dict(zip(names, (model.predict(asked), model.predict_proba(asked))))
    c.write(["model.onnx"], {"a": x[:90, 0], "b": x[:90, 1]}, library=LIBRARY, outputs=answers, score=answers[names[-1]][:, 1])
