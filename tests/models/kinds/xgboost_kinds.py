"""XGBoost: the .json and the .ubj that save_model writes, and the answers of the file read back."""

import json

import numpy as np
import pandas as pd
import xgboost as xgb

from kit import awkward_rows, kind

BASE = {"nthread": 1, "seed": 5, "max_depth": 4, "eta": 0.3, "tree_method": "hist"}


def thresholds(booster):
    """(column, threshold) of the numerical splits."""
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    found = []
    for tree in model.get("model", model.get("gbtree", {}).get("model", {})).get("trees", []):
        splits = zip(tree["split_indices"], tree["split_conditions"], tree["left_children"], tree["split_type"])
        found += [(f, t) for f, t, left, categorical in splits if left != -1 and not categorical]
    return found


def case(case, target, rounds=20, categories=(), data=None, train=None, names=None, **params):
    data = data or case.data(categories=categories)
    kinds = ["c" if n in categories else "q" for n in range(data.x.shape[1])]
    options = {"feature_types": kinds, "enable_categorical": True} if categories else {}
    training = xgb.DMatrix(data.x, **({"label": target(data)} | (train(data) if train else {})), feature_names=names, **options)
    booster = xgb.train({**BASE, **params}, training, rounds)
    finish(case, booster, data, kinds if categories else None)


def finish(case, booster, data, kinds=None, until=None, **meta):
    categories = [n for n, k in enumerate(kinds or []) if k == "c"]
    # Infinities the library does not take. A category is 0, 1, 2 …; others it takes for what it has not seen.
    rows = awkward_rows(data, thresholds(booster), f32=True, infinite=False, categories=categories)
    files = ["model.json", "model.ubj"]
    for file in files:
        booster.save_model(case.path(file))
    read = xgb.Booster(model_file=case.path("model.ubj"))
    names = booster.feature_names or [f"f{n}" for n in range(rows.shape[1])]
    options = {"feature_types": kinds, "enable_categorical": True} if kinds else {}
    asked = xgb.DMatrix(rows, feature_names=booster.feature_names, **options)
    bounds = {"iteration_range": (0, until)} if until else {}
    answer = read.predict(asked, **bounds)
    members = {"margin": read.predict(asked, output_margin=True, **bounds)}
    if json.loads(read.save_config())["learner"]["gradient_booster"]["name"] != "gblinear":
        leaves = read.predict(asked, pred_leaf=True, **bounds)
        members["leaves"] = leaves.reshape(len(rows), -1).astype(int)
        if until:
            members["leaves"] = members["leaves"][:, :until]
    if not meta.pop("no_contributions", False):
        members["contributions"] = read.predict(asked, pred_contribs=True, **bounds)
    case.write(
        files, {name: rows[:, n] for n, name in enumerate(names)}, library=f"xgboost {xgb.__version__}",
        score=answer if answer.ndim == 1 else None, outputs={"": answer} if answer.ndim > 1 else None, **members, **meta,
    )


def by(name, **options):
    return dict(target=lambda data: getattr(data, name), **options)


def groups(data):
    return {"group": [10] * (len(data.x) // 10)}


@kind
def xgboost_binary(c): case(c, **by("binary"), objective="binary:logistic")
@kind
def xgboost_binary_raw(c): case(c, **by("binary"), objective="binary:logitraw")
@kind
def xgboost_hinge(c): case(c, **by("binary"), objective="binary:hinge")
@kind
def xgboost_logistic_regression(c): case(c, lambda d: 1 / (1 + np.exp(-d.signal)), objective="reg:logistic")
@kind
def xgboost_softprob(c): case(c, **by("classes"), objective="multi:softprob", num_class=4)
@kind
def xgboost_softmax(c): case(c, **by("classes"), objective="multi:softmax", num_class=4)
@kind
def xgboost_squarederror(c): case(c, **by("signal"), objective="reg:squarederror")
@kind
def xgboost_squaredlogerror(c): case(c, **by("positive"), objective="reg:squaredlogerror")
@kind
def xgboost_pseudohuber(c): case(c, **by("signal"), objective="reg:pseudohubererror")
@kind
def xgboost_absoluteerror(c): case(c, **by("signal"), objective="reg:absoluteerror")
@kind
def xgboost_quantile(c): case(c, **by("signal"), objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9])
@kind
def xgboost_poisson(c): case(c, **by("counts"), objective="count:poisson")
@kind
def xgboost_tweedie(c): case(c, **by("counts"), objective="reg:tweedie", tweedie_variance_power=1.4)
@kind
def xgboost_gamma(c): case(c, **by("positive"), objective="reg:gamma")
@kind
def xgboost_cox(c): case(c, lambda d: d.positive * np.where(d.signal > 1, -1, 1), objective="survival:cox")
@kind
def xgboost_rank_ndcg(c): case(c, **by("classes"), objective="rank:ndcg", train=groups)
@kind
def xgboost_rank_pairwise(c): case(c, **by("classes"), objective="rank:pairwise", train=groups)
@kind
def xgboost_dart(c): case(c, **by("binary"), objective="binary:logistic", booster="dart", rate_drop=0.3, one_drop=1)
@kind
def xgboost_dart_multiclass(c): case(c, **by("classes"), objective="multi:softprob", num_class=4, booster="dart", rate_drop=0.3, normalize_type="forest")
@kind
def xgboost_random_forest(c): case(c, **by("binary"), rounds=1, objective="binary:logistic", num_parallel_tree=40, subsample=0.6, colsample_bynode=0.6, eta=1)
@kind
def xgboost_boosted_forest(c): case(c, **by("classes"), rounds=4, objective="multi:softprob", num_class=4, num_parallel_tree=5, subsample=0.6)
@kind
def xgboost_linear(c): case(c, **by("binary"), data=c.data(missing=0), objective="binary:logistic", booster="gblinear", updater="coord_descent")
@kind
def xgboost_linear_multiclass(c): case(c, **by("classes"), objective="multi:softprob", num_class=4, booster="gblinear", updater="coord_descent")
@kind
def xgboost_linear_regression(c): case(c, **by("signal"), objective="reg:squarederror", booster="gblinear", updater="shotgun")
@kind
def xgboost_categorical(c): case(c, **by("binary"), categories=(4, 5), objective="binary:logistic", max_cat_to_onehot=1, max_cat_threshold=8)
@kind
def xgboost_categorical_onehot(c): case(c, **by("binary"), categories=(4,), objective="binary:logistic", max_cat_to_onehot=64)
@kind
def xgboost_base_score(c): case(c, **by("binary"), objective="binary:logistic", base_score=0.17)
@kind
def xgboost_base_score_regression(c): case(c, **by("signal"), objective="reg:squarederror", base_score=-2.25)
@kind
def xgboost_leaves_300(c): case(c, **by("signal"), data=c.data(rows=1500), rounds=6, objective="reg:squarederror", grow_policy="lossguide", max_leaves=300, max_depth=0, min_child_weight=0)
@kind
def xgboost_deep(c): case(c, **by("signal"), data=c.data(rows=1500), rounds=6, objective="reg:squarederror", max_depth=14, min_child_weight=0)
@kind
def xgboost_exact(c): case(c, **by("binary"), objective="binary:logistic", tree_method="exact")
@kind
def xgboost_one_leaf(c): case(c, **by("binary"), objective="binary:logistic", min_child_weight=1e9, rounds=3)
@kind
def xgboost_trees_2000(c): case(c, **by("binary"), objective="binary:logistic", max_depth=2, eta=0.02, rounds=2000)
@kind
def xgboost_named(c): case(c, **by("binary"), objective="binary:logistic", names=["amount", "ratio 7d", "a_b", "UPPER", "ünï", "x-1", "7", "f0"])
@kind
def xgboost_monotone(c): case(c, **by("signal"), objective="reg:squarederror", monotone_constraints="(1,0,0,0,0,0,0,-1)", gamma=0.2)
@kind
def xgboost_several_targets(c): case(c, lambda d: np.stack([d.signal, d.positive, -d.signal], 1), objective="reg:squarederror")


@kind
def xgboost_vector_leaves(c):
    """One tree for all targets."""
    data = c.data()
    target = np.stack([data.signal, data.positive], 1)
    booster = xgb.train({**BASE, "objective": "reg:squarederror", "multi_strategy": "multi_output_tree"}, xgb.DMatrix(data.x, target), 5)
    finish(c, booster, data, no_contributions=True, **{"may-refuse": "multi_output_tree"})


@kind
def xgboost_early_stopping(c):
    """The scikit-learn wrapper answers with the trees up to the best; so do we."""
    data = c.data(rows=900)
    model = xgb.XGBClassifier(n_estimators=200, learning_rate=0.6, max_depth=4, early_stopping_rounds=5, n_jobs=1, random_state=2)
    model.fit(data.x[:600], data.binary[:600], eval_set=[(data.x[600:], data.binary[600:])], verbose=False)
    assert 0 < model.best_iteration < 190
    finish(c, model.get_booster(), data, until=model.best_iteration + 1)


@kind
def xgboost_scikit_learn(c):
    data = c.data()
    model = xgb.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, random_state=2).fit(data.x, data.classes)
    finish(c, model.get_booster(), data)


@kind
def xgboost_pandas_categorical(c):
    """Categories by their texts: the file lists them."""
    data = c.data(categories=(4,))
    names = list("abcdefgh")
    frame = pd.DataFrame({name: data.x[:, n] for n, name in enumerate(names)})
    texts = [f"shop {n}" for n in range(12)]
    frame["e"] = pd.Categorical([None if np.isnan(v) else texts[int(v)] for v in data.x[:, 4]], categories=texts)
    booster = xgb.train({**BASE, "objective": "binary:logistic"}, xgb.DMatrix(frame, data.binary, enable_categorical=True), 20)
    rows = awkward_rows(data, thresholds(booster), f32=True, infinite=False, categories=(4,))
    rows[:, 4] = np.where(rows[:, 4] < 0, np.nan, np.minimum(rows[:, 4], 11))
    asked = pd.DataFrame({name: rows[:, n] for n, name in enumerate(names)})
    asked["e"] = ["" if np.isnan(v) else texts[int(v)] for v in rows[:, 4]]
    given = asked.copy()
    given["e"] = pd.Categorical([v or None for v in asked["e"]], categories=texts)
    for file in ("model.json", "model.ubj"):
        booster.save_model(c.path(file))
    matrix = xgb.DMatrix(given, enable_categorical=True)
    c.write(
        ["model.json", "model.ubj"], {name: asked[name].tolist() for name in asked}, library=f"xgboost {xgb.__version__}",
        score=booster.predict(matrix), leaves=booster.predict(matrix, pred_leaf=True).astype(int), **{"may-refuse": "categories"},
    )
