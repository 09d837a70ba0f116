"""Functions that models are made of, named as in `jax.nn`. In: expressions. Out: compositions of ops, which fuse and differentiate.

from tjcore import nn
y = nn.softmax(nn.gelu(x @ w + b))
"""

from __future__ import annotations

import math

from .convolution import avg_pool, conv, max_pool
from .functions.elementwise import logaddexp, operand, stop_gradient
from .functions.statistics import logsumexp, var
from .graph import Expr, elementwise, reduce
from .lifting import lifted
from .shaping import Axes


def relu(x: Expr, /) -> Expr:
    """x where it is positive, else 0 (0 for NaN too)."""
    return operand("relu", x).relu()


def sigmoid(x: Expr, /) -> Expr:
    """1 / (1 + exp(-x))"""
    return elementwise("sigmoid", operand("sigmoid", x))


def tanh(x: Expr, /) -> Expr:
    """The hyperbolic tangent."""
    return elementwise("tanh", operand("tanh", x))


def silu(x: Expr, /) -> Expr:
    """x * sigmoid(x), also called swish."""
    return x * sigmoid(x)


def softplus(x: Expr, /) -> Expr:
    """log(1 + exp(x)), without overflow on the way."""
    return logaddexp(operand("softplus", x), 0)


def log_sigmoid(x: Expr, /) -> Expr:
    """log(sigmoid(x)), without underflow on the way."""
    return -softplus(-operand("log_sigmoid", x))


def soft_sign(x: Expr, /) -> Expr:
    """x / (1 + |x|)"""
    return x / (abs(operand("soft_sign", x)) + 1)


def leaky_relu(x: Expr, /, negative_slope: float = 0.01) -> Expr:
    """x where it is at least 0, else a part of it."""
    return (operand("leaky_relu", x) >= 0).where(x, x * negative_slope)


def elu(x: Expr, /, alpha: float = 1.0) -> Expr:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    above = operand("elu", x) > 0
    return above.where(x, alpha * above.where(0, x).expm1())  # so that no infinity lies on the other way


def selu(x: Expr, /) -> Expr:
    """`elu` scaled so that layers keep mean 0 and variance 1."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def gelu(x: Expr, /, approximate: bool = True) -> Expr:
    """x times the share of a normal distribution below x: by tanh, as most models do, or exactly by erf."""
    operand("gelu", x)
    if approximate:
        return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))).tanh())
    return 0.5 * x * (1 + (x * math.sqrt(0.5)).erf())


def hard_tanh(x: Expr, /) -> Expr:
    """x, cut off at -1 and 1."""
    return operand("hard_tanh", x).maximum(-1).minimum(1)


def softmax(x: Expr, /, axis: Axes = -1) -> Expr:
    """exp(x) divided by its sum along axes. A row that is -inf throughout, or holds NaN or inf, is NaN."""
    top = stop_gradient(reduce("max", operand("softmax", x), axis, keepdims=True))
    powers = (x - top).exp()
    return powers / reduce("sum", powers, axis, keepdims=True)


def log_softmax(x: Expr, /, axis: Axes = -1) -> Expr:
    """The logarithm of `softmax`, without underflow on the way."""
    top = stop_gradient(reduce("max", operand("log_softmax", x), axis, keepdims=True))
    shifted = x - top
    return shifted - reduce("sum", shifted.exp(), axis, keepdims=True).log()


def standardize(x: Expr, /, axis: Axes = -1, epsilon: float = 1e-5) -> Expr:
    """x less its mean, divided by its standard deviation along axes."""
    return (x - operand("standardize", x).mean(axis, keepdims=True)) / (var(x, axis=axis, keepdims=True) + epsilon).sqrt()


def layer_norm(x: Expr, /, weight: Expr | None = None, bias: Expr | None = None, *, axis: Axes = -1, epsilon: float = 1e-5) -> Expr:
    """`standardize`, then scaled by `weight` and moved by `bias`, which broadcast."""
    result = standardize(x, axis, epsilon)
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def rms_norm(x: Expr, /, weight: Expr | None = None, *, axis: Axes = -1, epsilon: float = 1e-6) -> Expr:
    """x divided by the root of the mean of its squares along axes, then scaled by `weight`."""
    result = x / ((operand("rms_norm", x) * x).mean(axis, keepdims=True) + epsilon).sqrt()
    return result if weight is None else result * weight


def cross_entropy(logits: Expr, probabilities: Expr, /, axis: int = -1) -> Expr:
    """-sum(probabilities * log_softmax(logits)) along one axis: the loss of a classifier, one per row."""
    return -reduce("sum", operand("cross_entropy", probabilities) * log_softmax(logits, axis), axis)


def binary_cross_entropy(logits: Expr, probabilities: Expr, /) -> Expr:
    """The loss of yes or no, one per element: softplus(logits) - logits * probabilities."""
    return softplus(logits) - logits * operand("binary_cross_entropy", probabilities)


__all__ = [
    "avg_pool", "binary_cross_entropy", "conv", "cross_entropy", "elu", "gelu", "hard_tanh", "layer_norm", "leaky_relu", "log_sigmoid", "log_softmax",
    "logsumexp", "max_pool", "relu", "rms_norm", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus", "standardize", "tanh",
]  # fmt: skip

globals().update({name: lifted(globals()[name]) for name in __all__})  # each also for the values of a program that is being traced
