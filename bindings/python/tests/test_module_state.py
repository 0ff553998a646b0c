"""Parameters, groups, frozen parameters and buffers of modules of PyTorch within the trainer, beside loops of PyTorch."""

import concurrent.futures
import logging
import re
import sys

import numpy as np
import pytest

import dsokr

torch = pytest.importorskip("torch")
if not hasattr(dsokr, "train"):
    pytest.skip("built without the feature run", allow_module_level=True)

ROWS = 40
TRAINING = 32


class Net(torch.nn.Module):
    """Numbered layers with batch normalisation, a frozen map, a parameter without dimensions, and one with three."""

    def __init__(self, layers="layers"):
        super().__init__()
        self.start = torch.nn.Linear(3, 4)
        self.list = layers
        setattr(self, layers, torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)]))
        self.norm = torch.nn.BatchNorm1d(4)
        self.fixed = torch.nn.Linear(4, 4)
        self.fixed.requires_grad_(False)
        self.scale = torch.nn.Parameter(torch.tensor(1.3))
        self.cube = torch.nn.Parameter(0.3 * torch.randn(2, 2, 2))
        self.head = torch.nn.Linear(4, 1)

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts], dtype=self.head.weight.dtype)
        h = self.start(x)
        for layer in getattr(self, self.list):
            h = h + torch.tanh(layer(h))
        h = self.norm(self.fixed(h)) * self.scale
        return self.head(h + torch.einsum("nab,abc->nc", h.view(-1, 2, 2), self.cube).repeat(1, 2))


def net(seed=3, layers="layers"):
    torch.manual_seed(seed)
    return Net(layers)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """A folder with texts of three numbers and a number to predict, and the training texts and numbers."""
    folder = tmp_path_factory.mktemp("numbers")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, 3)).round(3)
    y = (np.tanh(x @ [1.0, -2.0, 0.5]) + 3).round(3)
    texts = [" ".join(map(str, row)) for row in x]
    lines = [f"{text}\t{own}" for text, own in zip(texts, y, strict=True)]
    (folder / "pairs.tsv").write_text("\n".join(["text\ty", *lines]) + "\n")
    return folder, texts, torch.tensor(y, dtype=torch.float32)[:, None]


def train(problem, name, encoder, training=None, **options):
    folder, _, _ = problem
    splits = {"order": "file", "train": TRAINING, "validation": 4, "test": 4}
    tables = {
        "data": {"source": "pool", "folder": ".", "file": "pairs.tsv", "numbered": True, "splits": splits, "inputs": {"column": "text"}},
        "output": {"features": {"kind": "numbers", "column": "y"}, "kernel": {"name": "linear"}},
        "sketch": {"full": True},
        "encoder": {"kind": "ngram-bag"},
        "training": {"epochs": 12, "batch": TRAINING, "learning_rate": 0.02, "warmup": 0, "decay": "none", "clip": 0.0, **(training or {})},
        "evaluation": {"metric": "squared_error"},
    }  # fmt: skip
    return dsokr.train(tables, out=folder / name, data=folder, encoder=encoder, **options)


def values(module):
    """Parameters and buffers of a module by their names in the run."""
    return {"module." + name: each.detach().to(torch.float32).numpy() for name, each in module.state_dict().items()}


def close(found, expected, atol=2e-5):
    for name, each in expected.items():
        np.testing.assert_allclose(found["encoder." + name].ravel(), each.ravel(), atol=atol, err_msg=name)


def reference(module, texts, y, rates, decays, epochs):
    """Module and offset after a loop of PyTorch: each parameter with the rate and decay of the first pattern that its name
    has."""
    offset = torch.nn.Parameter(y.mean(0))

    def first(table, name, default):
        return next((value for pattern, value in table.items() if re.search(pattern, name)), default)

    groups = []
    for name, parameter in [*module.named_parameters(), ("offset", offset)]:
        decay = first(decays, name, 0.01 if parameter.ndim > 1 else 0.0)
        groups.append({"params": [parameter], "lr": first(rates, name, 0.02), "weight_decay": decay})
    optimizer = torch.optim.AdamW(groups)
    for _ in range(epochs):
        optimizer.zero_grad()
        (module(texts) + offset - y).square().sum(1).mean().backward()
        optimizer.step()
    return {**values(module), "offset": offset.detach().numpy()}


def last_parameters(seen):
    return lambda event: seen.append(event.parameters())


def test_training_is_that_of_pytorch(problem):
    """Every parameter and every buffer after 12 steps, with frozen parameters and the decay that leaves vectors out."""
    _, texts, y = problem
    seen = []
    train(problem, "plain", net(), on_step=last_parameters(seen))
    expected = reference(net(), texts[:TRAINING], y[:TRAINING], {}, {}, 12)
    close(seen[-1], expected)
    names = {"encoder." + name for name in expected}
    assert set(seen[-1]) == names
    # frozen ones are as they were, and the running statistics are not
    start = values(net())
    assert np.array_equal(seen[-1]["encoder.module.fixed.weight"], start["module.fixed.weight"])
    assert not np.allclose(seen[-1]["encoder.module.norm.running_mean"], start["module.norm.running_mean"])
    assert seen[-1]["encoder.module.norm.num_batches_tracked"] == [12]
    assert seen[-1]["encoder.module.cube"].shape == (2, 4) and seen[-1]["encoder.module.scale"].shape == (1,)


@pytest.mark.parametrize("layers", ["layers", "layer", "blocks", "block", "h"])
def test_groups_and_layers_have_their_rates(problem, layers):
    """Patterns find parameters by their names in the module: a rate, a decay, a frozen layer, and a decay over layers."""
    _, texts, y = problem
    groups = [
        {"parameters": "module.start", "learning_rate": 0.005},
        {"parameters": "head.*weight", "weight_decay": 0.5},
        {"parameters": "norm.bias", "learning_rate": 0.0},
    ]
    seen = []
    training = {"groups": groups, "layer_decay": 0.5}
    train(problem, layers, net(layers=layers), training, on_step=last_parameters(seen))
    # two layers: the last has half of the rate, the first a quarter, and what comes before them an eighth, as PyTorch
    # lists parameters: those of the module itself come first
    rates = {"start": 0.005 / 8, "scale|cube": 0.02 / 8, rf"{layers}\.0": 0.02 / 4, rf"{layers}\.1": 0.02 / 2, r"norm\.bias": 0.0}
    close(seen[-1], reference(net(layers=layers), texts[:TRAINING], y[:TRAINING], rates, {r"head\.weight": 0.5}, 12))


class Stack(torch.nn.Module):
    """Numbered layers in a module of their own, as BERT has them."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])

    def forward(self, h):
        for layer in self.layer:
            h = h + torch.tanh(layer(h))
        return h


class Beside(torch.nn.Module):
    """Embeddings beside the module that has the numbered layers."""

    def __init__(self):
        super().__init__()
        self.embeddings = torch.nn.Linear(3, 4)
        self.encoder = Stack()
        self.head = torch.nn.Linear(4, 1)

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts])
        return self.head(self.encoder(self.embeddings(x)))


def test_embeddings_beside_the_layers_have_the_lowest_rate(problem):
    _, texts, y = problem

    def start():
        torch.manual_seed(3)
        return Beside()

    seen = []
    train(problem, "beside", start(), {"layer_decay": 0.5}, on_step=last_parameters(seen))
    rates = {"embeddings": 0.02 / 8, r"layer\.0": 0.02 / 4, r"layer\.1": 0.02 / 2}
    close(seen[-1], reference(start(), texts[:TRAINING], y[:TRAINING], rates, {}, 12))


def test_a_group_without_parameters_is_refused(problem):
    with pytest.raises(dsokr.ConfigError, match=r"encoder\.module\.start\.weight"):
        train(problem, "wrong", net(), {"groups": [{"parameters": "strat", "learning_rate": 0.0}]})


def test_a_run_has_frozen_parameters_and_buffers(problem):
    """A module that starts from other values predicts as the trained one, by the files of the run alone."""
    _, texts, _ = problem
    model = train(problem, "kept", net())
    other = dsokr.Model.load(model.path, encoder=net(seed=4))
    assert np.array_equal(other.encode(texts), model.encode(texts))
    # which is what PyTorch computes in evaluation mode
    seen = []
    module = net()
    model = train(problem, "seen", module, callback=lambda event: seen.append((event["best"], event.parameters())))
    best = [parameters for is_best, parameters in seen if is_best][-1]
    state = {name: torch.from_numpy(best["encoder.module." + name]).view(each.shape).to(each.dtype) for name, each in net().state_dict().items()}
    plain = net(seed=5)
    plain.load_state_dict(state)
    z = plain.eval()(texts).detach().numpy() + best["encoder.offset"]
    np.testing.assert_allclose(model.encode(texts), z, atol=1e-5)


class Enough(Exception):
    pass


@pytest.mark.parametrize("training", [{}, {"micro_batch": 10}, {"ema": 0.7}])
def test_buffers_are_resumed_bit_for_bit(problem, training):
    _, texts, _ = problem
    name = "-".join(training) or "none"

    def end(event):
        if event.step == 5:
            raise Enough

    whole = train(problem, f"whole-{name}", net(), training)
    with pytest.raises(Enough):
        train(problem, f"parts-{name}", net(), training, on_step=end)
    resumed = train(problem, f"parts-{name}", net(seed=9), training, resume=True)
    assert [line["metrics"] for line in resumed.log] == [line["metrics"] for line in whole.log]
    assert np.array_equal(resumed.encode(texts), whole.encode(texts))


class Torn(Net):
    """Raises in the gradient of a pass of training, behind which the running statistics have changed."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def forward(self, texts):
        z = super().forward(texts)
        if self.training:
            self.at -= 1
            if self.at == 0:
                z.register_hook(self.tear)
        return z

    def tear(self, gradient):
        raise Enough


def test_the_buffers_of_a_torn_step_are_not_kept(problem):
    _, texts, _ = problem
    whole = train(problem, "untorn", net(), {"micro_batch": 16})
    torch.manual_seed(3)
    with pytest.raises(Enough):
        # in the second of two passes of the fourth step
        train(problem, "torn", Torn(8), {"micro_batch": 16})
    resumed = train(problem, "torn", net(seed=9), {"micro_batch": 16}, resume=True)
    assert np.array_equal(resumed.encode(texts), whole.encode(texts))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_modules_of_other_types(problem, dtype):
    """The module computes in its own type; the run has 32-bit floats."""
    _, texts, y = problem
    name = str(dtype).split(".")[1]
    seen = []
    model = train(problem, name, net().to(dtype), on_step=last_parameters(seen))
    if dtype == torch.float64:
        close(seen[-1], reference(net(), texts[:TRAINING], y[:TRAINING], {}, {}, 12))
    again = dsokr.Model.load(model.path, encoder=net(seed=4).to(dtype))
    assert np.array_equal(again.encode(texts), model.encode(texts))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_modules_of_other_types_read_vectors(tmp_path, dtype):
    """As a loop of PyTorch would give them vectors: in the type of the module."""
    x = np.random.default_rng(0).standard_normal((60, 4)).round(3)

    def linear(p):
        return torch.nn.Linear(4, p).to(dtype)

    options = {"encoder": linear, "seed": 1, "progress": False, "set": {"training.epochs": 2}}
    model = dsokr.fit(x, x @ [1.0, -2.0, 0.5, 0.0], tmp_path / "run", **options)
    coordinates = model.encode(x[:5])
    assert coordinates.shape[0] == 5 and np.isfinite(coordinates).all()


def test_a_module_learns_twice_from_its_first_values(problem):
    """The second training does not go on from what the first one has left in the module."""
    _, texts, _ = problem
    encoder = dsokr.Encoder(net())
    first = train(problem, "first", encoder).encode(texts)
    assert np.array_equal(train(problem, "second", encoder).encode(texts), first)


class Centred(torch.nn.Module):
    """Subtracts a running mean, which is changed in place, or put in the place of the one before."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place
        self.head = torch.nn.Linear(3, 1)
        self.register_buffer("mean", torch.zeros(3))
        # within the memory of a parameter, after a first pass
        self.register_buffer("bias_before", torch.zeros(1))

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts]) + 5
        if self.training and self.in_place:
            self.mean.mul_(0.5).add_(0.5 * x.mean(0))
            self.bias_before.copy_(self.head.bias.detach())
        elif self.training:
            self.mean = 0.5 * self.mean + 0.5 * x.mean(0)
            self.bias_before = self.head.bias.detach()
        return self.head(x - self.mean)


def centred(in_place, seed=3):
    torch.manual_seed(seed)
    return Centred(in_place)


def test_a_buffer_may_be_assigned(problem):
    """As PyTorch's own state has it: by its name, in the log, the run, a loaded model and a resumed training."""
    _, texts, _ = problem
    expected = train(problem, "changed-in-place", centred(True))
    found = train(problem, "assigned", centred(False))
    assert [line["metrics"] for line in found.log] == [line["metrics"] for line in expected.log]

    def end(event):
        if event.step == 5:
            raise Enough

    with pytest.raises(Enough):
        train(problem, "assigned-parts", centred(False), on_step=end)
    resumed = train(problem, "assigned-parts", centred(False, seed=9), resume=True)
    for model in (found, dsokr.Model.load(found.path, encoder=centred(False, seed=4)), resumed):
        assert np.array_equal(model.encode(texts), expected.encode(texts))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "extra is no longer a tensor of the module, expected 3 numbers; a buffer with persistent=False is not kept"),
        (torch.zeros(4), "extra has 4 numbers now, expected 3 as before; a buffer with persistent=False is not kept"),
    ],
)
def test_a_buffer_that_is_gone_or_has_another_size_is_refused(problem, value, message):
    class Changing(Net):
        def forward(self, texts):
            self.extra = value
            return super().forward(texts)

    module = Changing()
    module.register_buffer("extra", torch.zeros(3))
    with pytest.raises(dsokr.ConfigError, match=message):
        train(problem, f"gone-{value is None}", module)


class Late(torch.nn.Module):
    """Makes a tensor in its first pass of training."""

    def __init__(self, made):
        super().__init__()
        self.made = made
        self.head = torch.nn.Linear(3, 1)
        self.register_buffer("mean", None)

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts])
        if self.training and self.made == "none at first":
            self.mean = x.mean(0)
        elif self.training and not hasattr(self, "late"):
            if self.made == "parameter":
                self.late = torch.nn.Linear(3, 3)
            else:
                self.register_buffer("late", x.mean(0), persistent=self.made == "buffer")
        return self.head(x)


@pytest.mark.parametrize("is_instance", [False, True])
@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("none at first", "forward has made the buffer mean: give it values in __init__; a buffer with persistent=False is not kept"),
        ("buffer", "forward has made the buffer late: give it values in __init__"),
        ("parameter", "late.weight is a new parameter: make it in __init__"),
    ],
)
def test_a_tensor_that_a_pass_makes_is_refused_at_that_step(problem, made, message, is_instance):
    steps = []
    encoder = Late(made) if is_instance else lambda p: Late(made)
    with pytest.raises(dsokr.ConfigError, match=message):
        train(problem, f"late-{made}-{is_instance}".replace(" ", "-"), encoder, on_step=steps.append)
    assert not steps


def test_a_buffer_that_is_not_kept_may_be_made_in_a_pass(problem):
    assert train(problem, "late-not-kept", Late("buffer that is not kept")).log


class Tied(torch.nn.Module):
    """Two layers of one weight."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3, bias=False)
        self.second = torch.nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight
        self.head = torch.nn.Linear(3, 1)

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts])
        return self.head(self.second(torch.tanh(self.first(x))))


def test_weights_that_are_no_longer_tied_are_refused(problem):
    _, texts, _ = problem
    module = Tied()
    model = train(problem, "tied", module)
    expected = model.encode(texts)
    module.load_state_dict({name: each.clone() for name, each in Tied().state_dict().items()}, assign=True)
    with pytest.raises(dsokr.ConfigError, match=r"second.weight is a new parameter.*tie weights again behind load_state_dict"):
        model.encode(texts)
    module.second.weight = module.first.weight
    assert np.array_equal(model.encode(texts), expected)


def test_weights_that_have_been_tied_need_a_new_encoder(problem):
    _, texts, _ = problem
    module = Tied()
    module.second.weight = torch.nn.Parameter(module.first.weight.detach().clone())
    model = train(problem, "tied-later", module)
    module.second.weight = module.first.weight
    with pytest.raises(dsokr.ConfigError, match=r"first.weight and second.weight are one parameter now"):
        model.encode(texts)


def test_a_module_that_has_grown_needs_a_new_encoder(problem):
    module = net()
    encoder = dsokr.Encoder(module)
    module.more = torch.nn.Linear(2, 2)
    with pytest.raises(dsokr.ConfigError, match=r"other tensors than when its dsokr.Encoder was made \(more.bias, more.weight\)"):
        train(problem, "grown", encoder)


def test_a_module_may_change_between_passes(problem):
    """Another type puts new buffers in the place of the ones before, and parameters may be assigned."""
    _, texts, _ = problem
    module = net()
    model = train(problem, "moved", module)
    expected = model.encode(texts)
    module.double()
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-5)
    module.load_state_dict(net(seed=5).state_dict(), assign=True)
    assert np.array_equal(model.encode(texts), expected)


class Checkpointed(torch.nn.Module):
    """A part whose activations are computed again for its gradient, and a part that nothing uses."""

    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.start = torch.nn.Linear(3, 4)
        self.unused = torch.nn.Linear(2, 2)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts]).requires_grad_(self.training)
        return self.head(torch.utils.checkpoint.checkpoint(self.start, x, use_reentrant=self.reentrant))


def test_reentrant_checkpointing_trains_what_it_computes_again(problem):
    _, texts, _ = problem
    found = []
    for reentrant in (False, True):
        torch.manual_seed(3)
        module = Checkpointed(reentrant)
        module.head.bias.grad = torch.ones(1)
        seen = []
        model = train(problem, f"reentrant-{reentrant}", module, on_step=last_parameters(seen))
        assert not np.array_equal(seen[0]["encoder.module.start.weight"], seen[-1]["encoder.module.start.weight"])
        # gradients of the caller are as they were
        assert module.head.bias.grad == 1 and module.start.weight.grad is None
        found.append(model.encode(texts))
    assert np.array_equal(*found)


class Again(torch.nn.Module):
    """A layer within a block that is computed again, and outside of it."""

    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.layer = torch.nn.Linear(3, 3)
        self.head = torch.nn.Linear(3, 1)

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts]).requires_grad_(self.training)
        h = torch.utils.checkpoint.checkpoint(self.layer, x, use_reentrant=self.reentrant)
        return self.head(self.layer(torch.tanh(h)))


def test_a_layer_in_and_outside_of_a_block_that_is_computed_again(problem):
    _, texts, _ = problem
    found = []
    for reentrant in (False, True):
        torch.manual_seed(3)
        found.append(train(problem, f"again-{reentrant}", Again(reentrant)).encode(texts))
    np.testing.assert_allclose(*found, atol=1e-5)


class Teacher(torch.nn.Module):
    """Reads a layer that is not part of it."""

    def __init__(self):
        super().__init__()
        self.outside = [torch.nn.Linear(3, 3)]
        self.head = torch.nn.Linear(3, 1)

    def forward(self, texts):
        x = torch.tensor([[float(x) for x in text.split()] for text in texts])
        return self.head(self.outside[0](x))


def test_hooks_and_tensors_of_the_caller_are_left_alone(problem):
    _, texts, _ = problem
    found = []
    for is_hooked in (False, True):
        torch.manual_seed(3)
        module = Teacher()
        called = []
        if is_hooked:
            for parameter in module.parameters():
                parameter.register_post_accumulate_grad_hook(called.append)
        found.append(train(problem, f"hooked-{is_hooked}", module).encode(texts))
        assert module.outside[0].weight.grad is None and not called
    assert np.array_equal(*found)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_block_that_is_computed_again_may_be_frozen(problem, reentrant):
    seen = []
    groups = [{"parameters": "start.weight", "learning_rate": 0.0}]
    module = Checkpointed(reentrant)
    train(problem, f"frozen-{reentrant}", module, {"groups": groups}, on_step=last_parameters(seen))
    changed = [not np.array_equal(seen[0][name], seen[-1][name]) for name in ("encoder.module.start.weight", "encoder.module.start.bias")]
    assert changed == [False, True] and module.start.weight.requires_grad


def test_a_parameter_that_no_gradient_reaches_is_named_once(problem, caplog):
    with caplog.at_level(logging.WARNING, "dsokr"):
        train(problem, "unused", Checkpointed(False))
    (message,) = [record.getMessage() for record in caplog.records if "no gradient" in record.getMessage()]
    assert message.startswith("encoder: no gradient has reached unused.weight, unused.bias so far")
    caplog.clear()
    with caplog.at_level(logging.WARNING, "dsokr"):
        train(problem, "used", net(), {"groups": [{"parameters": "norm", "learning_rate": 0.0}]})
    assert not [record for record in caplog.records if "no gradient" in record.getMessage()]


def test_a_parameter_is_named_once_in_a_fit_of_several_trainings(tmp_path, caplog):
    class Unused(torch.nn.Linear):
        def __init__(self, p):
            super().__init__(3, p)
            self.unused = torch.nn.Parameter(torch.zeros(2))

    x = np.random.default_rng(0).standard_normal((60, 3)).round(3)
    options = {"encoder": Unused, "seed": 1, "progress": False, "set": {"training.epochs": 2, "decoding.held_out": True}}
    with caplog.at_level(logging.WARNING, "dsokr"):
        dsokr.fit(x, x @ [1.0, -2.0, 0.5], tmp_path / "run", **options)
    assert len([record for record in caplog.records if "no gradient" in record.getMessage()]) == 1


class Table(torch.nn.Module):
    """Vectors of the first digits of texts."""

    def __init__(self, sparse):
        super().__init__()
        self.table = torch.nn.Embedding(10, 4, sparse=sparse)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, texts):
        return self.head(self.table(torch.tensor([int(re.search(r"\d", text)[0]) for text in texts])))


def test_sparse_gradients_are_read(problem):
    _, texts, _ = problem
    found = []
    for sparse in (False, True):
        torch.manual_seed(3)
        found.append(train(problem, f"sparse-{sparse}", Table(sparse)).encode(texts))
    assert np.array_equal(*found)


def test_random_numbers_of_the_caller_go_on(problem, monkeypatch):
    """Those of GPUs too, which torch.manual_seed would seed."""
    seeds = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)

    def count(event):
        counts.append(len(seeds))

    for name, encoder in (("instance", net()), ("function", lambda p: Net())):
        torch.manual_seed(7)
        expected = torch.rand(3)
        torch.manual_seed(7)
        seeds.clear()
        counts = []
        train(problem, f"drawn-{name}", encoder, on_step=count)
        assert torch.equal(torch.rand(3), expected)
        # no step seeds them; behind a function that makes a module they have the caller's seed again
        assert len({*counts}) == 1 and (not seeds or seeds[-1] == 7), name
        assert bool(seeds) == (name == "function")


def test_a_compiled_module_has_the_names_of_the_module(problem):
    """A run of either is read with the other."""
    _, texts, _ = problem
    compiled = train(problem, "compiled", torch.compile(net(), backend="eager"))
    plain = train(problem, "not-compiled", net())
    for model, encoder in ((compiled, net(seed=4)), (plain, torch.compile(net(seed=4), backend="eager"))):
        again = dsokr.Model.load(model.path, encoder=encoder)
        np.testing.assert_allclose(again.encode(texts), model.encode(texts), atol=1e-6)


def test_a_compiled_module_and_the_module_answer_in_two_threads(problem):
    """Passes of one exclude those of the other, since they fill the same parameters."""
    _, texts, _ = problem
    module = Slow()
    models = [train(problem, "slow", module)]
    models.append(train(problem, "slow-compiled", torch.compile(module, backend="eager"), {"learning_rate": 0.05}))
    expected = [model.encode(texts) for model in models]
    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda model: [model.encode(texts) for _ in range(25)], models))
    finally:
        sys.setswitchinterval(switched)
    for found, alone in zip(answers, expected, strict=True):
        assert all(np.array_equal(each, alone) for each in found)


class Slow(torch.nn.Module):
    """Many layers."""

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(12)), torch.nn.Linear(3, 1))

    def forward(self, texts):
        return self.parts(torch.tensor([[float(x) for x in text.split()] for text in texts]))


def test_two_parameters_of_one_name_without_compilation_are_refused(problem):
    module = net()
    module.add_module("_orig_mod", torch.nn.Module())
    module._orig_mod.scale = torch.nn.Parameter(torch.zeros(1))
    with pytest.raises(dsokr.ConfigError, match="two tensors with the name scale"):
        dsokr.Encoder(module)
