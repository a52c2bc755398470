from hypothesis import given
from hypothesis import strategies as st

from harness.layers import Composition, Layer, LayerName, Lifetime, Trust
from harness.units import utf16_units


def layer(text: str, raw_units: int = -1) -> Layer:
    return Layer(LayerName.SOUL, "workspace/SOUL.md", Lifetime.TURN, Trust.WORKSPACE, text, raw_units)


@given(st.text())
def test_sizes_are_utf16_units(text: str) -> None:
    assert utf16_units(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_an_uncut_layer_is_as_large_as_its_source() -> None:
    assert (layer("a🦞").units, layer("a🦞").raw_units) == (3, 3)
    assert (layer("a", 40).units, layer("a", 40).raw_units) == (1, 40)


def test_a_composition_gives_a_layer_by_name() -> None:
    soul = layer("dry")
    composition = Composition((soul,), ())
    assert composition.get(LayerName.SOUL) is soul
    assert composition.get(LayerName.USER) is None
