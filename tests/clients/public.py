"""Train steps of published models: Hugging Face's Flax BERT, GPT-2 and ViT, and a Keras network on JAX, small and with random weights.

Each gives (step, args, donate) as models.py does. Everything comes from a configuration: no weights and no data are fetched.
BERT, GPT-2 and ViT train with dropout, from a key that is an argument. Never imports TOAST.
"""
import os

os.environ.update(KERAS_BACKEND="jax", USE_TORCH="0", USE_TF="0", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")

import frameworks  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
import transformers  # noqa: E402

VOCABULARY, WIDTH, BATCH, LENGTH = 1024, 128, 16, 64
ENCODER = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 4 * WIDTH}


def untrained(kind, config, *shape):
    """(model, weights) of a Flax model of transformers for inputs of this shape; all weights by one program, which compiles sooner"""
    model = kind(config, input_shape=shape, _do_init=False)
    return model, jax.jit(lambda: model.init_weights(jax.random.PRNGKey(0), shape))()


def train(model, params, loss_of, *batch):
    """(step, args, donate) of a Flax model of transformers: adamw on loss_of(logits, *batch), dropout by a key"""
    optimizer = optax.adamw(1e-3, eps=1e-5)

    def step(state, key, *batch):
        params, memory = state

        def loss(params):
            return loss_of(model(batch[0], params=params, dropout_rng=key, train=True).logits, *batch)
        value, grads = jax.value_and_grad(loss)(params)
        updates, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, updates), memory), value
    return step, ((params, jax.jit(optimizer.init)(params)), jax.random.key(3), *batch), (0,)


def tokens(seed=5):
    return jnp.asarray(np.random.default_rng(seed).integers(0, VOCABULARY, (BATCH, LENGTH)), jnp.int32)


def bert():
    """masked language model: every token is to be found again"""
    config = transformers.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=LENGTH, **ENCODER)
    return train(*untrained(transformers.FlaxBertForMaskedLM, config, 1, LENGTH),
                 lambda logits, x, y: frameworks.cross_entropy(logits, y), tokens(), tokens(6))


def gpt2():
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=WIDTH, n_layer=2, n_head=4)
    return train(*untrained(transformers.FlaxGPT2LMHeadModel, config, 1, LENGTH),
                 lambda logits, x: frameworks.cross_entropy(logits[:, :-1], x[:, 1:]), tokens())


def vit():
    config = transformers.ViTConfig(image_size=32, patch_size=4, num_labels=64, **ENCODER)
    rng = np.random.default_rng(7)
    images = jnp.asarray(rng.standard_normal((BATCH, 3, 32, 32)), jnp.float32)
    return train(*untrained(transformers.FlaxViTForImageClassification, config, 1, 32, 32, 3),
                 lambda logits, x, y: frameworks.cross_entropy(logits, y), images, jnp.asarray(rng.integers(0, 64, BATCH), jnp.int32))


def decoder(config, model, **more):
    """of Llama's kind: two layers, a key and a value for two heads each"""
    config = config(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=3 * WIDTH, num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=2, max_position_embeddings=LENGTH, **more)
    return train(*untrained(model, config, 1, LENGTH), lambda logits, x: frameworks.cross_entropy(logits[:, :-1], x[:, 1:]), tokens())


def llama():
    return decoder(transformers.LlamaConfig, transformers.FlaxLlamaForCausalLM)


def mistral():
    return decoder(transformers.MistralConfig, transformers.FlaxMistralForCausalLM, sliding_window=32)


def bart():
    """encoder and decoder, which share an embedding with the output"""
    config = transformers.BartConfig(vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=4 * WIDTH,
                                     decoder_ffn_dim=4 * WIDTH, encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=LENGTH)
    model, weights = untrained(transformers.FlaxBartForConditionalGeneration, config, 1, LENGTH)

    def both(x, params, dropout_rng, train):
        return model(x[0], decoder_input_ids=x[1], params=params, dropout_rng=dropout_rng, train=train)
    return train(both, weights, lambda logits, x: frameworks.cross_entropy(logits, x[1]), jnp.stack([tokens(), tokens(6)]))


def albert():
    """one layer for all, a narrow embedding that is the output, too: its two gradients are added before they are reduced"""
    config = transformers.AlbertConfig(vocab_size=VOCABULARY, max_position_embeddings=LENGTH, embedding_size=64, **ENCODER)
    return train(*untrained(transformers.FlaxAlbertForMaskedLM, config, 1, LENGTH),
                 lambda logits, x, y: frameworks.cross_entropy(logits, y), tokens(), tokens(6))


def gpt_neo():
    config = transformers.GPTNeoConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_layers=2, attention_types=[[["global", "local"], 1]], num_heads=4,
                                       max_position_embeddings=LENGTH, window_size=16)
    return train(*untrained(transformers.FlaxGPTNeoForCausalLM, config, 1, LENGTH),
                 lambda logits, x: frameworks.cross_entropy(logits[:, :-1], x[:, 1:]), tokens())


def keras_network():
    """residual blocks of Keras layers and its own Adam, by the stateless calls that Keras has for JAX"""
    import keras
    keras.utils.set_random_seed(8)
    x = inputs = keras.Input((frameworks.WIDTH,))
    for _ in range(2):
        y = keras.layers.Dense(4 * frameworks.WIDTH, activation="gelu")(keras.layers.LayerNormalization()(x))
        x = keras.layers.add([x, keras.layers.Dense(frameworks.WIDTH)(y)])
    model = keras.Model(inputs, keras.layers.Dense(frameworks.CLASSES)(x))
    optimizer = keras.optimizers.Adam(1e-3, epsilon=1e-5)
    optimizer.build(model.trainable_variables)

    def step(state, x, y):
        weights, others, memory = state

        def loss(weights):
            logits, rest = model.stateless_call(weights, others, x, training=True)
            return frameworks.cross_entropy(logits, y), rest
        (value, others), grads = jax.value_and_grad(loss, has_aux=True)(weights)
        weights, memory = optimizer.stateless_apply(memory, grads, weights)
        return (weights, others, memory), value
    values = [[v.value for v in group] for group in (model.trainable_variables, model.non_trainable_variables, optimizer.variables)]
    return step, (tuple(values), *frameworks.batch()), (0,)


PUBLIC = {"bert": bert, "gpt2": gpt2, "vit": vit, "keras": keras_network}
LISTED = {"llama": (llama, {"x": 8}, 0.3), "mistral": (mistral, {"data": 4, "model": 2}, 0.3), "bart": (bart, {"data": 4, "model": 2}, 0.35),
          "albert": (albert, {"data": 4, "model": 2}, 0.45), "gpt_neo": (gpt_neo, {"data": 2, "model": 4}, 0.3)}
