#!/usr/bin/env python3
"""Train steps of a public library's models for bench/referee, which nothing of the price was fitted to.

transformers' Flax classes at real widths and a few layers, bf16 over float32 parameters, AdamW of optax; parameters are
shapes alone, nothing is downloaded or computed. Needs the environment of scripts/requirements-models.txt.

examples:
    .venv-models/bin/python bench/referee_library.py models                 all of them into models/
    .venv-models/bin/python bench/referee_library.py models hf_bert hf_vit  two"""
import argparse
import pathlib


def decoder(name, batch, length, **sizes):
    return name, f"Flax{name}ForCausalLM", sizes, (batch, length)


def encoder(name, batch, length, **sizes):
    return name, f"Flax{name}ForMaskedLM", sizes, (batch, length)


MODELS = {
    "hf_llama": decoder("Llama", 32, 2048, vocab_size=32000, hidden_size=3072, intermediate_size=8192, num_hidden_layers=4,
                        num_attention_heads=24, num_key_value_heads=24, max_position_embeddings=2048),
    "hf_mistral": decoder("Mistral", 32, 2048, vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_hidden_layers=3,
                          num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=2048, sliding_window=1024),
    "hf_gemma": decoder("Gemma", 32, 1024, vocab_size=128000, hidden_size=2048, intermediate_size=8192, num_hidden_layers=4,
                        num_attention_heads=8, num_key_value_heads=1, head_dim=256, max_position_embeddings=2048),
    "hf_gptj": decoder("GPTJ", 64, 1024, vocab_size=50400, n_embd=4096, n_layer=3, n_head=16, rotary_dim=64, n_positions=1024),
    "hf_bloom": decoder("Bloom", 64, 512, vocab_size=65536, hidden_size=2560, n_layer=3, n_head=32),
    "hf_bert": encoder("Bert", 128, 512, hidden_size=1024, num_hidden_layers=4, num_attention_heads=16, intermediate_size=4096),
    "hf_roformer": encoder("RoFormer", 64, 1024, vocab_size=50000, embedding_size=768, hidden_size=1536, num_hidden_layers=4,
                           num_attention_heads=12, intermediate_size=6144, max_position_embeddings=1024),
    "hf_opt": decoder("OPT", 64, 1024, vocab_size=50272, hidden_size=2560, num_hidden_layers=4, ffn_dim=10240, num_attention_heads=32,
                      word_embed_proj_dim=2560, max_position_embeddings=1024, dropout=0.0),
    "hf_gptneo": decoder("GPTNeo", 64, 1024, vocab_size=50257, hidden_size=2048, num_layers=4, num_heads=16, max_position_embeddings=1024,
                         attention_types=[[["global", "local"], 2]], window_size=256),
    "hf_electra": encoder("Electra", 64, 512, embedding_size=1024, hidden_size=1024, num_hidden_layers=6, num_attention_heads=16,
                          intermediate_size=4096),
    "hf_vit": ("ViT", "FlaxViTForImageClassification",
               {"hidden_size": 1664, "num_hidden_layers": 4, "num_attention_heads": 16, "intermediate_size": 8192,
                "image_size": 224, "patch_size": 14, "num_labels": 1000}, (256, 224)),
    "hf_t5": ("T5", "FlaxT5ForConditionalGeneration",
              {"vocab_size": 32128, "d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 3, "num_heads": 16, "dropout_rate": 0.0}, (64, 512)),
    "hf_bart": ("Bart", "FlaxBartForConditionalGeneration",
                {"vocab_size": 50265, "d_model": 1024, "encoder_layers": 3, "decoder_layers": 3, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
                 "encoder_attention_heads": 16, "decoder_attention_heads": 16, "max_position_embeddings": 1024, "dropout": 0.0}, (64, 1024)),
    "hf_gpt2": ("GPT2", "FlaxGPT2LMHeadModel",
                {"vocab_size": 50257, "n_embd": 1600, "n_layer": 4, "n_head": 25, "n_positions": 1024}, (64, 1024)),
    "hf_bigbird": encoder("BigBird", 32, 2048, hidden_size=1024, num_hidden_layers=3, num_attention_heads=16, intermediate_size=4096,
                          max_position_embeddings=2048, block_size=64, num_random_blocks=3),
    "hf_xglm": decoder("XGLM", 64, 512, vocab_size=256008, d_model=2048, num_layers=3, ffn_dim=8192, attention_heads=16,
                       max_position_embeddings=512, dropout=0.0),
    "hf_albert": encoder("Albert", 64, 512, hidden_size=2048, num_hidden_layers=4, num_attention_heads=16, intermediate_size=8192),
}


def with_old_names(function):
    """a function of JAX that takes the names of its arguments that transformers still uses"""
    def called(*values, a_max=None, **named):
        return function(*values, **named, **({} if a_max is None else {"max": a_max}))
    return called


def build(name):
    """the model, its loss(parameters, batch) and the shapes of a batch"""
    import jax
    import jax.numpy as jnp
    import optax
    import transformers

    jnp.clip = with_old_names(jnp.clip)
    family, kind, sizes, (batch, length) = MODELS[name]
    config = getattr(transformers, f"{family}Config")(**sizes)
    model = getattr(transformers, kind)(config, dtype=jnp.bfloat16, _do_init=False)
    words = jax.ShapeDtypeStruct((batch, length), jnp.int32)

    def cross_entropy(logits, labels):
        return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), labels).mean()

    def next_word(parameters, data):
        logits = model(data["ids"], params=parameters)[0]
        return cross_entropy(logits[:, :-1], data["ids"][:, 1:])

    def masked(parameters, data):
        logits = model(data["ids"], attention_mask=data["mask"], params=parameters)[0]
        return cross_entropy(logits, data["labels"])

    def image(parameters, data):
        return cross_entropy(model(data["x"], params=parameters)[0], data["labels"])

    def translated(parameters, data):
        return cross_entropy(model(data["x"], decoder_input_ids=data["ids"], params=parameters)[0], data["ids"])

    if "Conditional" in kind:
        return model, translated, {"x": words, "ids": words}
    if "Image" in kind:
        pixels = jax.ShapeDtypeStruct((batch, 3, length, length), jnp.float32)
        return model, image, {"x": pixels, "labels": jax.ShapeDtypeStruct((batch,), jnp.int32)}
    if "Masked" in kind:
        return model, masked, {"ids": words, "labels": words, "mask": words}
    return model, next_word, {"ids": words}


def lower(name):
    """the train step as StableHLO text"""
    import jax
    import optax

    model, loss, batch = build(name)
    parameters = dict(jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), model.input_shape)))
    optimizer = optax.adamw(1e-4)

    def step(parameters, state, batch):
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    state = jax.eval_shape(optimizer.init, parameters)
    return jax.jit(step, donate_argnums=(0, 1)).lower(parameters, state, batch).as_text()


def main():
    parser = argparse.ArgumentParser(prog="referee_library.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; default: all")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"no model {unknown[0]}; there are {', '.join(MODELS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or MODELS:
        (options.folder / f"{name}.mlir").write_text(lower(name))
        print(options.folder / f"{name}.mlir", flush=True)


if __name__ == "__main__":
    main()
