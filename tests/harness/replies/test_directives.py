"""What an answer says about its own delivery is done and never shown, and the thoughts in it are never shown either."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.replies.directives import Directed, directed, without_directives
from harness.replies.silence import showable, told
from harness.replies.thoughts import without_thoughts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Here.\nMEDIA:charts/heat.png", Directed("Here.", ("charts/heat.png",))),
        ("MEDIA: ./a b.png \n\nDone.", Directed("Done.", ("./a b.png",))),
        (
            "  MEDIA:`a.png`\nMEDIA:'b c'\n`MEDIA:\"d.ogg\"`\nMEDIA:<e.png>",
            Directed("", ("a.png", "b c", "d.ogg", "e.png")),
        ),
        ("One\nMEDIA:a.png\nTwo\nMEDIA:a.png", Directed("One\nTwo", ("a.png",))),
        ("MEDIA:https://example.com/a.png\r\nSeen.", Directed("Seen.", ("https://example.com/a.png",))),
        ("MEDIA:summer photo.jpeg", Directed("", ("summer photo.jpeg",))),
        ("[[audio_as_voice]]\nMEDIA:song.ogg", Directed("", ("song.ogg",), voice=True)),
        ("[[reply_to_current]] Yes.", Directed("Yes.")),
        ("[[ Reply_To : 41 ]]Yes.\n[[audio_as_voice]]", Directed("Yes.", voice=True, reply_to="41")),
        (f"[[reply_to:{'4' * 256}]] Yes.", Directed("Yes.", reply_to="4" * 256)),
        (f"[[reply_to:{'4' * 257}]] Yes.", Directed("Yes.")),
        ("[[reply_to:]] Yes.", Directed("Yes.")),
        ("Yes [[reply_to:4]], and [[reply_to_current]] no.", Directed("Yes , and no.", reply_to="4")),
    ],
)
def test_a_directive_is_parsed_off(text: str, expected: Directed) -> None:
    assert directed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "MEDIA: the press was there.",
        "MEDIA:",
        "MEDIA: yes",
        "Write MEDIA:a.png on a line of its own.",
        "```\nMEDIA:a.png\n[[audio_as_voice]]\n```",
        "~~~md\n[[reply_to:4]]\n~~~\nThat is how.",
        "Begin with `[[reply_to_current]]` to answer.",
        "[[audio_as_text]] and [[4]]",
        "[[reply_to:a\nb]]",
        "media:a.png",
    ],
)
def test_what_only_looks_like_one_is_told_unchanged(text: str) -> None:
    assert directed(text) == Directed(text)
    assert told(text) == text


@pytest.mark.parametrize(
    ("said", "visible"),
    [
        ("M", ""),
        ("Done.\nMED", "Done."),
        ("Done.\n`MEDIA:./a.p", "Done."),
        ("Done.\nMEDIA:./a.png\nAnd", "Done.\nAnd"),
        ("Mint", "Mint"),
        ("Done.\nMEDIA: the press", "Done."),
        ("Done.\nMEDIA: the press\n", "Done.\nMEDIA: the press"),
        ("[", ""),
        ("[[", ""),
        ("[[reply_to_cur", ""),
        ("[[reply_to: 4", ""),
        ("[[reply_to: 4]", ""),
        ("[[reply_to: 4]] Yes", "Yes"),
        ("Yes [", "Yes"),
        ("Yes [[x]] [[au", "Yes [[x]]"),
        ("[[x", "[[x"),
        ("[[see [[reply_to_cur", "[[see"),
        ("[a", "[a"),
        ("```\nMEDIA:a", "```\nMEDIA:a"),
        ("```\nx [[", "```\nx [["),
        ("<think>It is late.", ""),
        ("Two. <think>It is late", "Two."),
        ("Two. <thin", "Two."),
        ("Two. <", "Two."),
        ("Two. <b", "Two. <b"),
        ("Two. <gatew", "Two."),
        ("Two. <gateway_turn_10", "Two."),
        ("Two.\n<external_gateway_quoted_01>\nchat 4711", "Two."),
        ("Two. <untrusted-te", "Two."),
        ("Two. <gate>", "Two. <gate>"),
        ("<think>a</think>Two", "Two"),
        ("<think>MEDIA:a.png</think>\nNO_", ""),
    ],
)
def test_half_a_directive_is_never_shown(said: str, visible: str) -> None:
    assert showable(said) == visible


MANY = 20_000


@pytest.mark.parametrize(
    "text",
    [
        f"MEDIA: a{' ' * MANY}b",
        f"[[reply_to:{' ' * MANY}x",
        f"[[{'[' * MANY}]]]",
        f"One{' ' * MANY}two.",
        f"One NO_REPLY{' ' * MANY}two.",
        f"1 <{' ' * MANY}2 > 1",
        f"One <think> `{'`' * MANY}{'x' * MANY}",
        "`a` <think> " * (MANY // 12) + ".",
    ],
    ids=range(8),
)
def test_a_model_that_repeats_itself_for_ever_holds_nobody_up(text: str) -> None:
    """Each of these once took minutes, and meanwhile no chat was answered."""
    assert told(text) == text
    assert text.startswith(showable(text))


DIRECTIVES = st.sampled_from(
    ["MEDIA:./a.png", "[[audio_as_voice]]", "[[ reply_to_current ]]", "[[reply_to: 41]]", "`MEDIA:b.png`"]
)


@given(st.sampled_from(["", "Here.\n", "One.\n\nTwo\n"]), DIRECTIVES, st.data())
def test_no_cut_through_a_directive_shows_a_part_of_it(before: str, directive: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(directive)))
    assert without_directives(before + directive[:size]).strip() == before.strip()
    assert showable(before + directive[:size]) == before.strip()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>Late.</think>\nTwo o'clock.", "Two o'clock."),
        ("<thinking>a</thinking><reasoning>b</reasoning> Two.", "Two."),
        ("One.\n\n<think>\nLate.\n</think>\n\nTwo.", "One.\n\n\n\nTwo."),
        ("One <THINK>late</THINK>two.", "One two."),
        ("Late. Nobody asked.\n</think>\n\nTwo.", "Two."),
        ("<think>It never ends", ""),
        ("Two.\n<think>It never ends", "Two.\n"),
        ("<gateway_turn_10_about_01>\nchat 4711\n</gateway_turn_10_about_01>\n\nTwo.", "Two."),
        ("One. <external_gateway_quoted_01>x</external_gateway_quoted_01>Two.", "One. Two."),
        ("One.\n</gateway_turn_10_about_01>\nTwo.", "One.\n\nTwo."),
        ('<untrusted-text source="chat">x</untrusted-text>Two.', "Two."),
        ("<think>a <thought>b</thought> c</think>Two.", "Two."),
    ],
)
def test_thoughts_are_taken_out_of_an_answer(text: str, left: str) -> None:
    assert without_thoughts(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "Use the <think> tag.",
        "`<think>a</think>` is how.",
        "```xml\n<think>a</think>\n```",
        "a < b",
        "<thinker>x</thinker>",
        "Close it by </think> there.",
    ],
)
def test_an_answer_that_speaks_of_the_tags_arrives_unchanged(text: str) -> None:
    assert without_thoughts(text) == text


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "`", "```\n", "\n", "a ", "[[", "]]", "MEDIA:", "x.png"])).map(
        "".join
    )
)
def test_any_text_is_told_once_and_for_all(text: str) -> None:
    once = without_thoughts(text)
    assert len(once) <= len(text)
    assert len(directed(text).text) <= len(text)
    assert len(showable(text)) <= len(text)
