"""Two small models of torch beside the GPT: an encoder with tied embeddings, and a mixer on patches of images."""
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out, self.drop = nn.Linear(width, width), nn.Dropout(0.0)

    def forward(self, x):
        split = lambda y: y.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # noqa: E731
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = self.drop((q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1))
        return {"out": self.out((scores @ v).transpose(1, 2).reshape(x.shape)), "scores": scores}


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.0))

    def forward(self, x):
        x = self.norm1(x + self.attention(x)["out"])
        return self.norm2(x + self.feed(x))


class Encoder(nn.Module):
    """norms after, as BERT; the output layer is the embedding"""

    def __init__(self, vocabulary, width, heads, length, layers=2):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers, self.norm = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers)), nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.norm(self.embed(tokens) + self.place.weight)
        for layer in self.layers:
            x = layer(x)
        return F.linear(x, self.embed.weight)


class Mix(nn.Module):
    def __init__(self, places, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.GroupNorm(4, width)
        self.across = nn.Sequential(nn.Linear(places, 2 * places), nn.GELU(), nn.Linear(2 * places, places))
        self.along = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.norm2(x.transpose(1, 2)).transpose(1, 2)), x.mean()


class Mixer(nn.Module):
    """images of 3 x size x size in patches of 8"""

    def __init__(self, size, width, classes, layers=2):
        super().__init__()
        self.patches, self.norm, self.head = nn.Conv2d(3, width, 8, 8), nn.LayerNorm(width), nn.Linear(width, classes)
        self.layers = nn.ModuleList(Mix((size // 8) ** 2, width) for _ in range(layers))

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x, _ = layer(x)
        return self.head(self.norm(x).mean(1))
