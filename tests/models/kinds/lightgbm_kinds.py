"""LightGBM: the .txt that Booster.save_model writes, and the answers of that file read back."""

import lightgbm as lgb
import numpy as np
import pandas as pd

from kit import awkward_rows, kind

BASE = {"verbosity": -1, "num_threads": 1, "seed": 7, "deterministic": True, "min_data_in_leaf": 5, "num_leaves": 12, "learning_rate": 0.2}


def thresholds(booster):
    """(column, threshold) of the numerical splits."""
    found = []
    for tree in booster.model_to_string().split("Tree=")[1:]:
        lines = dict(line.split("=", 1) for line in tree.split("\n\n")[0].splitlines() if "=" in line)
        if lines.get("split_feature"):
            splits = zip(lines["split_feature"].split(), lines["threshold"].split(), lines["decision_type"].split())
            found += [(int(f), float(t)) for f, t, d in splits if not int(d) & 1]
    return found


def case(case, target, rounds=25, categories=(), train=None, data=None, names=None, nan=True, infinite=True, **params):
    data = data or case.data(categories=categories)
    y = target(data)
    options = {"feature_name": names} if names else {}
    training = lgb.Dataset(data.x, y, categorical_feature=list(categories), free_raw_data=False, **options, **(train or {}))
    booster = lgb.train({**BASE, **params}, training, rounds)
    finish(case, booster, awkward_rows(data, thresholds(booster), nan=nan, infinite=infinite, categories=categories))


def finish(case, booster, rows, frame=None, **meta):
    booster.save_model(case.path("model.txt"))
    read = lgb.Booster(model_file=case.path("model.txt"))
    given = rows if frame is None else frame
    answer = read.predict(given)
    names = read.feature_name()
    columns = {name: rows[:, n] for n, name in enumerate(names)} if frame is None else {name: frame[name].tolist() for name in names}
    # A forest's raw score is the sum of its trees, and its answer that of their mean: our margin is the latter's.
    averaged = read.current_iteration() if "\naverage_output\n" in read.model_to_string() else 1
    contributions = None if meta.pop("no_contributions", False) else read.predict(given, pred_contrib=True)
    case.write(
        ["model.txt"], columns, library=f"lightgbm {lgb.__version__}",
        score=answer if answer.ndim == 1 else None, outputs={"": answer} if answer.ndim > 1 else None,
        leaves=read.predict(given, pred_leaf=True), margin=read.predict(given, raw_score=True) / averaged, contributions=contributions, **meta,
    )


def by(name, **options):
    def target(data):
        return getattr(data, name)
    return dict(target=target, **options)


@kind
def lightgbm_binary(c): case(c, **by("binary"), objective="binary")
@kind
def lightgbm_binary_sigmoid(c): case(c, **by("binary"), objective="binary", sigmoid=2.5)
@kind
def lightgbm_binary_unbalanced(c): case(c, **by("binary"), objective="binary", is_unbalance=True, boost_from_average=False)
@kind
def lightgbm_binary_goss(c): case(c, **by("binary"), objective="binary", data_sample_strategy="goss")
@kind
def lightgbm_multiclass(c): case(c, **by("classes"), objective="multiclass", num_class=4)
@kind
def lightgbm_multiclassova(c): case(c, **by("classes"), objective="multiclassova", num_class=4, sigmoid=1.7)
@kind
def lightgbm_regression(c): case(c, **by("signal"), objective="regression")
@kind
def lightgbm_regression_sqrt(c): case(c, lambda d: np.sign(d.signal) * d.signal**2 * 9, objective="regression", reg_sqrt=True)
@kind
def lightgbm_regression_l1(c): case(c, **by("signal"), objective="regression_l1")
@kind
def lightgbm_huber(c): case(c, **by("signal"), objective="huber")
@kind
def lightgbm_fair(c): case(c, **by("signal"), objective="fair")
@kind
def lightgbm_quantile(c): case(c, **by("signal"), objective="quantile", alpha=0.8)
@kind
def lightgbm_mape(c): case(c, **by("positive"), objective="mape")
@kind
def lightgbm_poisson(c): case(c, **by("counts"), objective="poisson")
@kind
def lightgbm_tweedie(c): case(c, **by("counts"), objective="tweedie", tweedie_variance_power=1.3)
@kind
def lightgbm_gamma(c): case(c, **by("positive"), objective="gamma")
@kind
def lightgbm_cross_entropy(c): case(c, lambda d: 1 / (1 + np.exp(-d.signal)), objective="cross_entropy")
@kind
def lightgbm_cross_entropy_lambda(c): case(c, lambda d: 1 / (1 + np.exp(-d.signal)), objective="cross_entropy_lambda")
@kind
def lightgbm_lambdarank(c): case(c, **by("classes"), objective="lambdarank", train={"group": [10] * 70})
@kind
def lightgbm_rank_xendcg(c): case(c, **by("classes"), objective="rank_xendcg", train={"group": [10] * 70})
@kind
def lightgbm_dart(c): case(c, **by("binary"), objective="binary", boosting="dart", drop_rate=0.4)
@kind
def lightgbm_rf(c): case(c, **by("binary"), objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.6)
@kind
def lightgbm_rf_multiclass(c): case(c, **by("classes"), objective="multiclass", num_class=4, boosting="rf", bagging_freq=1, bagging_fraction=0.6)
@kind
def lightgbm_rf_regression(c): case(c, **by("signal"), objective="regression", boosting="rf", bagging_freq=1, bagging_fraction=0.6)
@kind
def lightgbm_zero_as_missing(c): case(c, **by("binary"), objective="binary", zero_as_missing=True)
@kind
def lightgbm_use_missing_false(c): case(c, **by("binary"), objective="binary", use_missing=False)
@kind
def lightgbm_no_missing_seen(c): case(c, **by("binary"), objective="binary", data=c.data(missing=0))
@kind
def lightgbm_categorical(c): case(c, **by("binary"), objective="binary", categories=(4, 5), min_data_per_group=5, cat_smooth=1.0)
@kind
def lightgbm_categorical_onehot(c): case(c, **by("binary"), objective="binary", categories=(6,), max_cat_to_onehot=20, min_data_per_group=2)
@kind
def lightgbm_leaves_64(c): case(c, **by("signal"), objective="regression", num_leaves=64, min_data_in_leaf=2, data=c.data(rows=1500))
@kind
def lightgbm_leaves_300(c): case(c, **by("signal"), objective="regression", num_leaves=300, min_data_in_leaf=1, rounds=8, data=c.data(rows=1500))
@kind
def lightgbm_stumps_2000(c): case(c, **by("binary"), objective="binary", num_leaves=2, learning_rate=0.02, rounds=2000)
@kind
def lightgbm_deep(c): case(c, **by("signal"), objective="regression", num_leaves=60, max_depth=-1, min_data_in_leaf=1, min_gain_to_split=0, rounds=5, data=c.data(width=2))
@kind
def lightgbm_one_leaf(c): case(c, **by("binary"), objective="binary", min_data_in_leaf=10_000, rounds=5)
@kind
def lightgbm_named(c): case(c, **by("binary"), objective="binary", names=["amount", "ratio.7d", "a_b", "UPPER", "ünï", "x-1", "7", "f0"])
@kind
def lightgbm_monotone(c): case(c, **by("signal"), objective="regression", monotone_constraints=[1, 0, 0, 0, 0, 0, 0, -1], extra_trees=True)
@kind
def lightgbm_custom_objective(c):
    case(c, **by("binary"), objective=lambda p, d: (1 / (1 + np.exp(-p)) - d.get_label(), np.full(len(p), 0.25)))


@kind
def lightgbm_early_stopping(c):
    data = c.data(rows=900)
    training = lgb.Dataset(data.x[:600], data.binary[:600])
    booster = lgb.train(
        {**BASE, "objective": "binary", "learning_rate": 0.5}, training, 200,
        valid_sets=[lgb.Dataset(data.x[600:], data.binary[600:], reference=training)], callbacks=[lgb.early_stopping(5, verbose=False)],
    )
    assert 0 < booster.best_iteration < 200
    finish(c, booster, awkward_rows(data, thresholds(booster)))


@kind
def lightgbm_scikit_learn(c):
    data = c.data()
    model = lgb.LGBMClassifier(n_estimators=30, num_leaves=15, n_jobs=1, verbosity=-1, random_state=3).fit(data.x, data.classes)
    finish(c, model.booster_, awkward_rows(data, thresholds(model.booster_)))


@kind
def lightgbm_pandas_categorical(c):
    """Categories by their texts: the file says the codes in its last line."""
    data = c.data(categories=(4,))
    texts = np.array([f"shop {n}" for n in range(12)] + ["never seen"])
    frame = pd.DataFrame({name: data.x[:, n] for n, name in enumerate("abcdefgh")})
    frame["e"] = pd.Categorical([None if np.isnan(v) else texts[int(v)] for v in data.x[:, 4]])
    params = {**BASE, "objective": "binary", "min_data_per_group": 5, "cat_smooth": 1.0}
    booster = lgb.train(params, lgb.Dataset(frame, data.binary), 25)
    rows = awkward_rows(data, thresholds(booster), categories=(4,))
    rows[:, 4] = np.where(rows[:, 4] < 0, np.nan, np.minimum(rows[:, 4], 12))
    asked = pd.DataFrame({name: rows[:, n] for n, name in enumerate("abcdefgh")})
    asked["e"] = ["" if np.isnan(v) else str(texts[int(v)]) for v in rows[:, 4]]
    given = asked.copy()
    given["e"] = pd.Categorical([v or None for v in asked["e"]], categories=[*texts])
    booster.save_model(c.path("model.txt"))
    read = lgb.Booster(model_file=c.path("model.txt"))
    c.write(
        ["model.txt"], {name: asked[name].tolist() for name in asked}, library=f"lightgbm {lgb.__version__}", score=read.predict(given),
        leaves=read.predict(given, pred_leaf=True), margin=read.predict(given, raw_score=True), **{"may-refuse": "pandas_categorical"},
    )


@kind
def lightgbm_linear_tree(c):
    """Not supported, and refused by that name."""
    data = c.data(missing=0)
    booster = lgb.train({**BASE, "objective": "regression", "linear_tree": True}, lgb.Dataset(data.x, data.signal), 5)
    finish(c, booster, awkward_rows(data, nan=False, infinite=False), no_contributions=True, **{"must-refuse": "linear_tree"})
