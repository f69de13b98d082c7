"""A small multi-layer perceptron in NumPy, with backpropagation written out.

It stands for any training code: this file does not use smdebug.
"""

import numpy as np


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Each activation with its derivative as a function of its output.
ACTIVATIONS = {
    "relu": (relu, lambda output: (output > 0).astype(output.dtype)),
    "sigmoid": (sigmoid, lambda output: output * (1 - output)),
    "softmax": (None, None),  # the output layer; its derivative is part of the loss
}


class Layer:
    """Weights, a bias and an activation."""

    def __init__(self, name, inputs, outputs, activation, deviation, rng):
        self.name = name
        self.activation = activation
        self.weight = rng.normal(0, deviation, (inputs, outputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self.weight_gradient = np.zeros_like(self.weight)
        self.bias_gradient = np.zeros_like(self.bias)
        self.input = self.output = None

    def forward(self, x):
        self.input = x
        linear = x @ self.weight + self.bias
        function, _ = ACTIVATIONS[self.activation]
        self.output = softmax(linear) if function is None else function(linear)
        return self.output

    def backward(self, gradient):
        """Takes the loss's gradient by the layer's output; returns the gradient by its input."""
        _, derivative = ACTIVATIONS[self.activation]
        if derivative is not None:
            gradient = gradient * derivative(self.output)
        self.weight_gradient = self.input.T @ gradient
        self.bias_gradient = gradient.sum(axis=0)
        return gradient @ self.weight.T

    def update(self, learning_rate, weight_decay):
        self.weight -= learning_rate * (self.weight_gradient + weight_decay * self.weight)
        self.bias -= learning_rate * self.bias_gradient


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class Network:
    """Hidden layers with one activation, and a softmax layer for the classes.

    Parameters
    ----------
    sizes : list of int
        Width of the input, of each hidden layer, and of the output.
    activation : str
        "relu" or "sigmoid".
    deviation : float or None
        Standard deviation of the initial weights; None: sqrt(2 / inputs) ("He"), which keeps
        the size of signals equal from layer to layer.
    """

    def __init__(self, sizes, activation, deviation, rng):
        self.layers = []
        for number, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]), start=1):
            is_last = number == len(sizes) - 1
            self.layers.append(
                Layer(
                    f"layer{number}",
                    inputs,
                    outputs,
                    "softmax" if is_last else activation,
                    np.sqrt(2 / inputs) if deviation is None else deviation,
                    rng,
                )
            )

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, labels):
        """Returns the gradients of the mean cross-entropy of the last forward pass."""
        gradient = self.layers[-1].output.copy()
        gradient[np.arange(len(labels)), labels] -= 1
        gradient /= len(labels)
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)

    def update(self, learning_rate, weight_decay):
        """Makes one step of stochastic gradient descent."""
        for layer in self.layers:
            layer.update(learning_rate, weight_decay)


def cross_entropy(probabilities, labels):
    chosen = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(chosen, 1e-12)).mean())


def accuracy(probabilities, labels):
    return float((probabilities.argmax(axis=1) == labels).mean())
