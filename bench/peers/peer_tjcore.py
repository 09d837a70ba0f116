"""tjcore: one CompiledGraph per workload, straight from NumPy arrays. Variants: the toolchains gcc and clang."""

import os

if os.environ.get("BENCH_PEER_CACHE"):
    os.environ["TENSORJIT_CACHE_DIR"] = os.environ["BENCH_PEER_CACHE"]
else:
    os.environ.setdefault("TENSORJIT_CACHE", "0")

import harness
import workloads as W

import tjcore as tj


class TjNs(W.Ns):
    def exp(self, x):
        return x.exp()

    def log(self, x):
        return x.log()

    def tanh(self, x):
        return x.tanh()

    def sqrt(self, x):
        return x.sqrt()

    def relu(self, x):
        return x.relu()

    def _reduce(self, x, op, axis, keep):
        if axis is None:
            for _ in range(len(x.shape)):
                x = getattr(x, op)(-1)
            return x
        y = getattr(x, op)(axis)
        return y.expand_dims(axis if axis >= 0 else axis + len(x.shape)) if keep else y

    def sum(self, x, axis, keep=False):
        return self._reduce(x, "sum", axis, keep)

    def max(self, x, axis, keep=False):
        return self._reduce(x, "max", axis, keep)

    def mean(self, x, axis, keep=False):
        return self._reduce(x, "mean", axis, keep)

    def argmax(self, x, axis):
        return x.argmax(axis)

    def transpose(self, x, perm):
        return x.permute(perm)

    def reshape(self, x, shape):
        return x.reshape(shape)

    def conv2d(self, x, w, stride=1, pad=0, groups=1):
        return tj.nn.conv(x, w, stride=stride, padding=pad, groups=groups)


class Peer(harness.Base):
    name = "tjcore"
    variants = ("gcc", "clang")

    def version(self):
        probe = {row.toolchain: row.detail for row in tj.plugins.manager().status()}
        return f"tjcore {tj.__version__} with {probe[self.variant]}"

    def _graph(self, wl, shapes):
        exprs = [tj.input(name, shape) for name, shape in shapes.items()]
        out = wl.fn(TjNs(), *exprs)
        graph = tj.CompiledGraph(harness.outs(out), backend=self.variant, threads=self.threads, max_bytes=2**33)
        names = list(shapes)

        # as a user would write it: graph(x=x, a=a, ...)
        f = eval(f"lambda {', '.join(names)}: graph({', '.join(f'{n}={n}' for n in names)})", {"graph": graph})
        f.graph = graph
        return f

    def compile(self, wl, inputs):
        return self._graph(wl, wl.shapes)

    def compile_dynamic(self, wl, inputs):
        n = tj.Dim("N", 1, 200)
        shapes = {
            name: tuple(n if wl.dyn.get(name) == axis else size for axis, size in enumerate(shape)) for name, shape in wl.shapes.items()
        }
        return self._graph(wl, shapes)

    def recompiles(self, f):
        return f.graph.compilations

    def temp_bytes(self, wl, inputs):
        f = self.compile(wl, inputs)
        f(*inputs.values())
        memory = f.graph.last_memory
        return {"temp": memory.temporary_bytes, "argument": memory.input_bytes, "output": memory.output_bytes}


if __name__ == "__main__":
    harness.main(Peer)
