"""LightGBM, XGBoost and CatBoost as ONNX files, by onnxmltools and by CatBoost itself."""

import json

import catboost
import lightgbm as lgb
import numpy as np
import onnx
import onnxmltools
import xgboost as xgb
from onnxmltools.convert.common.data_types import DoubleTensorType, FloatTensorType

from kinds import lightgbm_kinds, xgboost_kinds
from kinds.onnx_case import finish
from kit import awkward_rows, kind


def first(values):
    return np.asarray(values).reshape(len(values), -1)


def given(rows, types=FloatTensorType):
    return [("X", types([None, rows.shape[1]]))]


def lightgbm(c, target, objective, zipmap=False, differs=None, types=FloatTensorType, missing=0.08, rounds=20, infinite=True, categories=(), split=None, **params):
    data = c.data(missing=missing, categories=categories)
    training = lgb.Dataset(data.x, getattr(data, target), categorical_feature=list(categories), free_raw_data=False)
    booster = lgb.train({**lightgbm_kinds.BASE, "objective": objective, **params}, training, rounds)
    double = types is DoubleTensorType
    asked = awkward_rows(data, lightgbm_kinds.thresholds(booster), f32=not double, nan=bool(missing), infinite=infinite, categories=categories)
    asked = asked if double else asked.astype(np.float32)
    model = onnxmltools.convert_lightgbm(booster, initial_types=given(asked, types), zipmap=zipmap, target_opset=15, split=split)
    answer = booster.predict(asked.astype(np.float64))
    names = [o.name for o in model.graph.output]
    if objective in ("binary", "cross_entropy"):
        native = {names[-1]: np.stack([1 - answer, answer], 1)} if len(names) > 1 else {names[0]: first(answer)}
        score = (names[-1], 1) if len(names) > 1 else (names[0], 0)
    elif answer.ndim > 1:
        native, score = {names[-1]: answer}, None
    else:
        native, score = {names[0]: first(answer)}, (names[0], 0)
    finish(c, model, {"X": asked}, f"lightgbm {lgb.__version__}", native=native, differs=differs, score=score)


CUT = "thresholds and inputs are cut to f32"


@kind
def export_lightgbm_binary(c): lightgbm(c, "binary", "binary", differs=CUT)
@kind
def export_lightgbm_zipmap(c): lightgbm(c, "binary", "binary", zipmap=True, differs=CUT)
@kind
def export_lightgbm_multiclass(c): lightgbm(c, "classes", "multiclass", num_class=4, differs=CUT)
@kind
def export_lightgbm_regression(c): lightgbm(c, "signal", "regression", differs=CUT)
@kind
def export_lightgbm_regression_split(c): lightgbm(c, "signal", "regression", split=5, differs=CUT)
@kind
def export_lightgbm_poisson(c): lightgbm(c, "counts", "poisson", differs=CUT)
@kind
def export_lightgbm_sigmoid(c): lightgbm(c, "binary", "binary", sigmoid=2.5, differs="the sigmoid's factor is not exported")
@kind
def export_lightgbm_forest(c): lightgbm(c, "binary", "binary", boosting="rf", bagging_freq=1, bagging_fraction=0.6, differs="the mean over trees is not exported")
@kind
def export_lightgbm_categorical(c): lightgbm(c, "binary", "binary", categories=(4,), min_data_per_group=5, cat_smooth=1.0, infinite=False, differs="edges of categories")


def xgboost(c, target, objective, zipmap=True, rounds=15, differs=None, missing=0.08, **params):
    data = c.data(missing=missing)
    booster = xgb.train({**xgboost_kinds.BASE, "objective": objective, **params}, xgb.DMatrix(data.x, getattr(data, target)), rounds)
    asked = awkward_rows(data, xgboost_kinds.thresholds(booster), f32=True, infinite=False).astype(np.float32)
    booster.feature_names = None
    model = onnxmltools.convert_xgboost(booster, initial_types=given(asked), target_opset=15)
    answer = booster.predict(xgb.DMatrix(asked))
    names = [o.name for o in model.graph.output]
    if objective == "binary:logistic":
        native, score = {names[-1]: np.stack([1 - answer, answer], 1)}, (names[-1], 1)
    elif answer.ndim > 1:
        native, score = {names[-1]: answer}, None
    else:
        native, score = {names[0]: first(answer)}, (names[0], 0)
    finish(c, model, {"X": asked}, f"xgboost {xgb.__version__}", native=native, differs=differs, score=score)


@kind
def export_xgboost_binary(c): xgboost(c, "binary", "binary:logistic")
@kind
def export_xgboost_multiclass(c): xgboost(c, "classes", "multi:softprob", num_class=4)
@kind
def export_xgboost_regression(c): xgboost(c, "signal", "reg:squarederror")
@kind
def export_xgboost_poisson(c): xgboost(c, "counts", "count:poisson", differs="the exponential may be left to the reader")
@kind
def export_xgboost_forest(c): xgboost(c, "binary", "binary:logistic", num_parallel_tree=5, subsample=0.6, rounds=3)


def catboost_(c, target, model, missing=0.08, differs=None):
    data = c.data(missing=missing)
    model.fit(data.x, getattr(data, target), verbose=False)
    asked = awkward_rows(data, [(split["feature"], split["border"]) for split in borders(model, c)], f32=True, infinite=False).astype(np.float32)
    path = c.path("model.onnx")
    model.save_model(str(path), format="onnx")
    outputs = [o.name for o in onnx.load(path).graph.output]
    feeds = {"features": asked}
    if isinstance(model, catboost.CatBoostClassifier):
        native = {outputs[0]: first(model.predict(asked)), outputs[-1]: model.predict_proba(asked)}
        score = (outputs[-1], 1) if len(model.classes_) == 2 else None
    else:
        native, score = {outputs[0]: first(model.predict(asked))}, (outputs[0], 0)
    finish(c, None, feeds, f"catboost {catboost.__version__}", native=native, differs=differs, score=score)


def borders(model, c):
    """Its own JSON form says the borders of each feature."""
    path = c.path("model.json")
    model.save_model(str(path), format="json")
    features = json.loads(path.read_text())["features_info"]["float_features"]
    path.unlink()
    return [{"feature": f["flat_feature_index"], "border": b} for f in features for b in (f["borders"] or [])]


CATBOOST = {"iterations": 25, "depth": 5, "thread_count": 1, "random_seed": 3, "allow_writing_files": False}


@kind
def export_catboost_binary(c): catboost_(c, "binary", catboost.CatBoostClassifier(**CATBOOST))
@kind
def export_catboost_multiclass(c): catboost_(c, "classes", catboost.CatBoostClassifier(**CATBOOST, loss_function="MultiClass"))
@kind
def export_catboost_regression(c): catboost_(c, "signal", catboost.CatBoostRegressor(**CATBOOST))
@kind
def export_catboost_missing_max(c): catboost_(c, "signal", catboost.CatBoostRegressor(**CATBOOST, nan_mode="Max"), differs="a missing value above all is not exported")
