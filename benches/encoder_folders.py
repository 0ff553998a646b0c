"""Small folders of pretrained encoders with random weights, and what the Python libraries compute with them: the test
data of crates/nn/tests/suite/pretrained.

usage: python encoder_folders.py [OUT]          (default: crates/nn/tests/golden)

Needs torch, transformers and sentence-transformers. Written with versions 2.13 to 2.15, 5.24 and 6.2. All folders together
have less than 600 kB. The libraries are not called by tests.
"""
import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from tokenizers import processors
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    AlbertConfig, AutoModel, BertConfig, BertTokenizerFast, DebertaV2Config, DistilBertConfig, ElectraConfig, EsmConfig, EsmTokenizer,
    Gemma3TextConfig, LlamaConfig, MistralConfig, ModernBertConfig, MPNetConfig, MPNetTokenizer, MT5Config, MT5EncoderModel, NomicBertConfig, Qwen2Config,
    Qwen2Tokenizer, Qwen3Config, RobertaTokenizer, T5Config, T5EncoderModel)

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "crates/nn/tests/golden")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = SPECIAL + list("abcdefgABCD:") + ["##" + letter for letter in "abcdefg"]
# of odd and even numbers of tokens, and more than fit
TEXTS = ["", "a", "ab c", "Ab Ca dd", "b a c d e f g a b c d e f g ab", "gg: x c", "A[SEP]Ab"]


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


def pairs_of_bytes(folder, letters):
    """A tokenizer of Qwen's that puts a token behind texts and pads them at their starts, as those of embedding models do."""
    end = "<|endoftext|>"
    merges = [("a", "b"), ("\u0120", "c")]
    words = [*letters, "\u0120", *(first + second for first, second in merges), end]
    tokenizer = Qwen2Tokenizer({word: at for at, word in enumerate(words)}, merges, padding_side="left")
    tokenizer.backend_tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(f"$A {end}", special_tokens=[(end, words.index(end))])])
    tokenizer.save_pretrained(folder)
    return len(words)


def decoder(folder):
    """A Qwen3 in the layout of transformers."""
    torch.manual_seed(3)
    size = pairs_of_bytes(folder, sorted(letter for letter in ByteLevel.alphabet() if letter.isascii()))
    config = Qwen3Config(
        vocab_size=size, hidden_size=8, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=4,
        intermediate_size=12, max_position_embeddings=64)
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
    decoder(clear("scratch"))
    new("sentences-last", [transformer(40), Pooling(8, "lasttoken"), Normalize()],
        prompts={"query": "Instruct: ab\nQuery:", "document": ""})
    shutil.rmtree(scratch)

    # a prompt for texts of no particular kind, which queries are not
    unnamed = old("sentences-default-prompt", ["Transformer", "Pooling"], {"max_seq_length": 12, "do_lower_case": False},
                  {"prompts": {"passage": "a b"}, "default_prompt_name": "passage"})
    write(unnamed / "1_Pooling/config.json", pooling(mean_tokens=True))

    for folder in sorted(OUT.glob("sentences-*")):
        model = SentenceTransformer(str(folder), device="cpu")
        query = model.prompts.get("query", "")
        write(folder / "expected.json", {
            "texts": TEXTS,
            "plain": rounded(model.encode(TEXTS, prompt="")),
            "query": rounded(model.encode_query(TEXTS)),
            "prompt": query,
            "ids": [model.tokenizer(query + text, truncation=True)["input_ids"] for text in TEXTS]})


def check_padding(model, ids, states):
    """The states of texts are those in a batch that is padded at the ends or the starts."""
    longest = max(map(len, ids))
    for at_end in [True, False]:
        pad = lambda row, value: row + [value] * (longest - len(row)) if at_end else [value] * (longest - len(row)) + row
        mask = torch.tensor([pad([1] * len(row), 0) for row in ids])
        batch = model(input_ids=torch.tensor([pad(row, 0) for row in ids]), attention_mask=mask).last_hidden_state
        for row, one, inside in zip(batch, states, mask.bool()):
            assert torch.allclose(row[inside], one, atol=5e-5)


def families():
    """A body of each family, its hidden states, and the gradients of `sum(states * cos(0, 1, 2, ...))`."""
    sizes = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=10,
                 max_position_embeddings=44, vocab_size=len(VOCABULARY))
    rotary = dict(position_embedding_type="rotary", token_dropout=True, mask_token_id=4, pad_token_id=0)
    disentangled = dict(
        relative_attention=True, position_biased_input=False, pos_att_type="p2c|c2p", share_att_key=True,
        norm_rel_ebd="layer_norm")
    windows = sizes | dict(num_hidden_layers=3, local_attention=6, pad_token_id=0, bos_token_id=2, eos_token_id=3,
                           cls_token_id=2, sep_token_id=3)
    grouped = sizes | dict(num_attention_heads=4, num_key_value_heads=2, pad_token_id=0, bos_token_id=2, eos_token_id=3)
    configs = {
        "distilbert": DistilBertConfig(
            dim=8, n_layers=2, n_heads=2, hidden_dim=10, max_position_embeddings=44, vocab_size=len(VOCABULARY)),
        "mpnet": MPNetConfig(**sizes),
        "electra": ElectraConfig(embedding_size=6, **sizes),
        "albert": AlbertConfig(embedding_size=6, **(sizes | dict(num_hidden_layers=4, num_hidden_groups=2))),
        # texts longer than the distances with vectors of their own, and than the farthest one
        "deberta": DebertaV2Config(**sizes, **disentangled, position_buckets=8, max_relative_positions=20),
        "deberta-absolute": DebertaV2Config(
            **sizes, **(disentangled | dict(norm_rel_ebd="none", pos_att_type=["c2p", "p2c"])), max_relative_positions=20,
            type_vocab_size=2),
        "esm": EsmConfig(**sizes, **rotary),
        "esm-absolute": EsmConfig(emb_layer_norm_before=True, token_dropout=False, pad_token_id=1, **sizes),
        "modernbert": ModernBertConfig(**windows),
        "modernbert-biases": ModernBertConfig(
            **(windows | dict(num_hidden_layers=2)), norm_bias=True, attention_bias=True, mlp_bias=True, hidden_activation="gelu_pytorch_tanh"),
        "nomic": NomicBertConfig(**sizes),
        # heads that are wider than their share of the width, and texts longer than the farthest distance
        "t5": T5Config(
            d_model=8, d_kv=6, d_ff=10, num_layers=2, num_heads=3, vocab_size=len(VOCABULARY),
            relative_attention_num_buckets=10, relative_attention_max_distance=20),
        "mt5": MT5Config(d_model=8, d_kv=4, d_ff=10, num_layers=2, num_heads=2, vocab_size=len(VOCABULARY)),
        "llama": LlamaConfig(**grouped, head_dim=6, attention_bias=True, mlp_bias=True),
        # windows in all layers, and in the last one
        "mistral": MistralConfig(**(grouped | dict(num_key_value_heads=1)), sliding_window=6),
        "qwen2": Qwen2Config(**grouped, use_sliding_window=True, sliding_window=6, max_window_layers=1),
        "qwen2-both-sides": Qwen2Config(**grouped, is_causal=False),
        "qwen3": Qwen3Config(**grouped, head_dim=6),
        "gemma3": Gemma3TextConfig(**grouped, head_dim=6, query_pre_attn_scalar=6, sliding_window=8, sliding_window_pattern=2),
        "gemma3-both-sides": Gemma3TextConfig(
            **grouped, head_dim=6, query_pre_attn_scalar=6, sliding_window=8, use_bidirectional_attention=True,
            layer_types=["full_attention", "sliding_attention"]),
    }
    encoders = {"t5": T5EncoderModel, "mt5": MT5EncoderModel}
    ids = [[2], [2, 3], [2, 7, 12, 9, 3], [2, 5, 4, 8, 4, 11, 3], [2, *[5 + 7 * at % 15 for at in range(39)], 3]]
    for name, config in configs.items():
        folder = clear("family-" + name)
        torch.manual_seed(5)
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
        BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
        (folder / "vocab.txt").unlink(missing_ok=True)
        # one tokenizer for all families, but for the one whose class transformers 5 always takes
        write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"})
        if config.model_type == "qwen2":
            pairs_of_bytes(folder, "abcdefgABCD:")
        config.architectures = None
        encoder = encoders.get(name)
        model = (encoder(config) if encoder else AutoModel.from_config(config)).eval()
        randomise(model)
        model.save_pretrained(folder)
        if name == "esm":
            # most checkpoints of ESM-2 have a table of positions, which rotary positions leave unused
            tensors = load_file(folder / "model.safetensors")
            tensors["embeddings.position_embeddings.weight"] = torch.randn(44, 8)
            save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
            model = AutoModel.from_pretrained(folder).eval()
        if name == "mistral":
            # files of whole decoders have a prefix, and a head beside it
            tensors = load_file(folder / "model.safetensors")
            tensors = {f"model.{name}": value for name, value in tensors.items()} | {"lm_head.weight": torch.randn(24, 8)}
            save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
            model = AutoModel.from_pretrained(folder).eval()
        if name == "qwen3":
            # in 16 bits, and in several files
            (folder / "model.safetensors").unlink()
            model.bfloat16().save_pretrained(folder, max_shard_size="1KB")
            model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        states = [model(input_ids=torch.tensor([row])).last_hidden_state[0] for row in ids]
        if hasattr(config, "num_key_value_heads"):
            check_padding(model, ids, states)
        states = torch.cat(states)
        (states * torch.cos(torch.arange(states.numel(), dtype=torch.float64)).float().view_as(states)).sum().backward()
        # under the names of the file, which may not be those of the module
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.full_like(parameter, torch.nan) if parameter.grad is None else parameter.grad)
        scratch = clear("scratch")
        model.save_pretrained(scratch)
        written = load_file(scratch / "model.safetensors")
        gradients = {name: value for name, value in written.items()
                     if not value.isnan().any() and not name.endswith("inv_freq")}
        shutil.rmtree(scratch)
        save_file({"states": states.detach()} | gradients, folder / "expected.safetensors")
        write(folder / "expected.json", {"ids": ids})


def tokenizers():
    """Vocabularies without a tokenizer.json, and the ids of transformers' tokenizers."""
    texts = ["", "the ring", " The  ring, of rings!", "naïve\nring 12", "MKTAYIAK", "mk X?? <mask>A", "a<mask> ring</s>"]
    bytes_ = sorted(ByteLevel.alphabet())
    merges = ["t h", "th e", "\u0120 the", "i n", "in g", "\u0120 r", "\u0120r ing", "r ing"]
    merged = [merge.replace(" ", "") for merge in merges]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *bytes_, *merged, "<mask>"]
    roberta = clear("tokenizer-roberta")
    write(roberta / "vocab.json", {token: at for at, token in enumerate(tokens)})
    (roberta / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    esm = clear("tokenizer-esm")
    (esm / "vocab.txt").write_text("\n".join(
        ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]))
    mpnet = clear("tokenizer-mpnet")
    words = ["<s>", "<pad>", "</s>", "[UNK]", "the", "ring", "##s", "of", ",", "!", "na", "##ive", "12", "a", "<mask>"]
    (mpnet / "vocab.txt").write_text("\n".join(words) + "\n")
    esm_without_eos = clear("tokenizer-esm-without-eos")
    shutil.copy(esm / "vocab.txt", esm_without_eos)
    write(esm_without_eos / "tokenizer_config.json", {"tokenizer_class": "EsmTokenizer", "eos_token": None})
    read = {
        roberta: RobertaTokenizer.from_pretrained(str(roberta)),
        esm: EsmTokenizer(str(esm / "vocab.txt")),
        mpnet: MPNetTokenizer.from_pretrained(str(mpnet)),
        esm_without_eos: EsmTokenizer.from_pretrained(str(esm_without_eos)),
    }
    for folder, tokenizer in read.items():
        write(folder / "expected.json", {"texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts]})

    # tokens that are added to a vocabulary, in the files of present and of former versions
    token = lambda content, **flags: {
        "content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True,
        **flags}
    texts = ["the [MOL] ring", "[mol]ring", "the ring a of", "RING A!", "rings Ring A", "[MASK] the", "the<mol> <mask>ring",
             "a <extra> <extras>ring", "the <more>", "MK<extra>TA <mask> Y"]
    bert = clear("tokenizer-bert-added")
    words = [*SPECIAL, "the", "ring", "##s", "of", ",", "!", "a"]
    (bert / "vocab.txt").write_text("\n".join(words) + "\n")
    added = [token(word) for word in SPECIAL] + [
        token("[MOL]", lstrip=True, rstrip=True), token("Ring A", normalized=True, special=False, single_word=True)]
    places = [*range(5), len(words), len(words) + 1]
    write(bert / "tokenizer_config.json", {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True,
        "added_tokens_decoder": {str(at): token for at, token in zip(places, added)}})
    roberta_added = clear("tokenizer-roberta-added")
    for name in ["vocab.json", "merges.txt"]:
        shutil.copy(roberta / name, roberta_added)
    mask = token("<mask>", lstrip=True)
    del mask["special"]
    write(roberta_added / "special_tokens_map.json", {"mask_token": mask, "additional_special_tokens": ["<mol>"]})
    size = len(tokens)
    write(roberta_added / "added_tokens.json", {"<extra>": size, "<mol>": size + 2, "<more>": size + 1})
    esm_added = clear("tokenizer-esm-added")
    shutil.copy(esm / "vocab.txt", esm_added)
    write(esm_added / "added_tokens.json", {"<extra>": 33, "<more>": 34})
    read = {
        bert: BertTokenizerFast.from_pretrained(str(bert)),
        roberta_added: RobertaTokenizer.from_pretrained(str(roberta_added)),
        esm_added: EsmTokenizer.from_pretrained(str(esm_added)),
    }
    for folder, tokenizer in read.items():
        write(folder / "expected.json", {"texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts]})


def defaults():
    """What a config.json means that does not say it: the activation, epsilon, and shares of dropout. What a family's
    configuration does not have is null."""
    classes = [AlbertConfig, BertConfig, DebertaV2Config, DistilBertConfig, ElectraConfig, EsmConfig, Gemma3TextConfig, LlamaConfig, MistralConfig,
               ModernBertConfig, MPNetConfig, MT5Config, NomicBertConfig, Qwen2Config, Qwen3Config, T5Config]
    values = {}
    for config in (kind() for kind in classes):
        first = lambda *names: next((getattr(config, name) for name in names if hasattr(config, name)), None)
        values[config.model_type] = {
            "activation": first("hidden_act", "hidden_activation", "activation", "dense_act_fn"),
            "epsilon": first("layer_norm_eps", "norm_eps", "layer_norm_epsilon", "rms_norm_eps"),
            "dropout": first("hidden_dropout_prob", "embedding_dropout", "dropout", "dropout_rate"),
            "attention_dropout": first("attention_probs_dropout_prob", "attention_dropout", "dropout_rate")}
    write(OUT / "defaults.json", values)


sentences()
families()
defaults()
tokenizers()
