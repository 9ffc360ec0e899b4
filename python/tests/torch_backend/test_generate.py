"""generate() of transformers with a compiled forward: the tokens of eager, and no new graph after the third."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import zoo  # noqa: E402
from comparison import compiled, count_graphs, forget  # noqa: E402

MAX_GRAPHS = 3
NEW_TOKENS = 12


def generate(model, prompt, cache):
    torch.manual_seed(0)
    further = {} if cache == "growing" else dict(cache_implementation=cache)
    # disable_compile: transformers must not compile forward itself, with another backend.
    return model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS,
                          do_sample=False, pad_token_id=0, disable_compile=True, **further)


@pytest.mark.parametrize("cache", ["growing", "static"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_tokens_are_those_of_eager_and_graphs_are_few(name, cache):
    forget()
    model = zoo.example(name).model.eval()
    prompts = [zoo.tokens(batch=2, length=length, below=zoo.VOCABULARY - 1) for length in (5, 5, 5)]
    expected = [generate(model, prompt, cache) for prompt in prompts]
    model.forward = compiled(model.forward)
    with count_graphs() as graphs:
        for prompt, tokens in zip(prompts, expected):
            assert torch.equal(generate(model, prompt, cache), tokens)
    assert 0 < graphs[0] <= MAX_GRAPHS
