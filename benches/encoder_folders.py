"""Small folders of pretrained encoders with random weights, and what the Python libraries compute with them: the test
data of crates/nn/tests/suite/pretrained.

usage: python encoder_folders.py [OUT]          (default: crates/nn/tests/golden)

Needs torch, transformers and sentence-transformers. Written with versions 2.13, 5.24 and 6.2. All folders together
have less than 300 kB. The libraries are not called by tests.
"""
import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from transformers import AutoModel, AutoTokenizer, BertConfig, BertTokenizerFast

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "crates/nn/tests/golden")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = SPECIAL + list("abcdefgABCD:") + ["##" + letter for letter in "abcdefg"]
# of odd and even numbers of tokens, and more than fit
TEXTS = ["", "a", "ab c", "Ab Ca dd", "b a c d e f g a b c d e f g ab", "gg: x c"]


def randomise(module, deviation=0.3):
    """Draws all parameters anew: those that libraries start with are too small to tell differences."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            mean = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            parameter.copy_(mean + deviation * torch.randn_like(parameter))


def clear(name):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n")


def rounded(rows):
    """Numbers with seven decimals, which are enough for a tolerance of 1e-4."""
    return [[round(float(value), 7) for value in row] for row in rows]


def bert(folder, lower=False):
    """A BERT in the layout of transformers."""
    torch.manual_seed(3)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=lower)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=12, max_position_embeddings=16)
    model = AutoModel.from_config(config)
    randomise(model)
    model.save_pretrained(folder)


def sentences():
    """Models of sentence-transformers, in the files of its first versions and of the present one."""
    kinds = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
    scratch = clear("scratch")
    bert(scratch)

    # first versions: a key for each kind of pooling, and the longest text in a file of its own
    def old(name, modules, settings, prompts=None):
        folder = clear(name)
        bert(folder)
        entry = lambda at, path, kind: {
            "idx": at, "name": str(at), "path": path, "type": "sentence_transformers.models." + kind}
        rows = [entry(at, "" if at == 0 else f"{at}_{kind}", kind) for at, kind in enumerate(modules)]
        write(folder / "modules.json", rows)
        write(folder / "sentence_bert_config.json", settings)
        if prompts:
            write(folder / "config_sentence_transformers.json", prompts)
        return folder

    pooling = lambda **true: {"word_embedding_dimension": 8} | {
        f"pooling_mode_{kind}": kind in true for kind in ["cls_token", "mean_tokens", "max_tokens"]} | {
        f"pooling_mode_{kind}": True for kind in true}
    first = old("sentences-first", ["Transformer", "Pooling", "Normalize"],
                {"max_seq_length": 7, "do_lower_case": True})
    write(first / "1_Pooling/config.json", pooling(cls_token=True))

    # a dense layer in a file of torch.save, as LaBSE has it
    dense = old("sentences-dense", ["Transformer", "Pooling", "Dense", "Normalize"],
                {"max_seq_length": None, "do_lower_case": False},
                {"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": "query"})
    write(dense / "1_Pooling/config.json", pooling(mean_tokens=True, mean_sqrt_len_tokens=True, max_tokens=True))
    layer = Dense(24, 5, bias=True)
    randomise(layer)
    write(dense / "2_Dense/config.json", {
        "in_features": 24, "out_features": 5, "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh"})
    torch.save(layer.state_dict(), dense / "2_Dense/pytorch_model.bin")

    # the present version writes these
    def new(name, modules, **settings):
        folder = clear(name)
        for module in modules[1:]:
            randomise(module)
        SentenceTransformer(modules=modules, **settings).save(str(folder))
        (folder / "README.md").unlink()

    transformer = lambda length: Transformer(str(scratch), max_seq_length=length)
    order = ["lasttoken", "mean", "cls", "weightedmean", "max", "mean_sqrt_len_tokens"]
    new("sentences-all-modes",
        [transformer(9), Pooling(8, tuple(order)), Dense(48, 6, bias=False, activation_function=torch.nn.ReLU()),
         Dense(6, 4, activation_function=torch.nn.GELU())],
        prompts={"query": "gab ", "document": ""})
    new("sentences-without-prompt", [transformer(16), Pooling(8, tuple(kinds), include_prompt=False)],
        prompts={"query": "c: d", "document": "b"})
    shutil.rmtree(scratch)

    for folder in sorted(OUT.glob("sentences-*")):
        model = SentenceTransformer(str(folder), device="cpu")
        query = model.prompts.get("query", "")
        write(folder / "expected.json", {
            "texts": TEXTS,
            "plain": rounded(model.encode(TEXTS, prompt="")),
            "query": rounded(model.encode_query(TEXTS)),
            "prompt": query,
            "ids": [model.tokenizer(query + text, truncation=True)["input_ids"] for text in TEXTS]})


sentences()
