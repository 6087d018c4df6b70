"""A small GPT of torch: layer norms before, fused queries, keys and values, causal softmax, gelu, a head of its own."""
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        length, size = x.shape[1], x.shape[2] // self.heads
        q, k, v = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, self.heads, size).permute(2, 0, 3, 1, 4)
        later = torch.ones(length, length, device=x.device).tril() == 0
        scores = (q @ k.transpose(-1, -2) / size ** 0.5).masked_fill(later, -1e9).softmax(-1)
        x = x + self.out((scores @ v).permute(0, 2, 1, 3).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary, width, heads, layers=2):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        self.layers, self.norm = nn.ModuleList(Block(width, heads) for _ in range(layers)), nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
