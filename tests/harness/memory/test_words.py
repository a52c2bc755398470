import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.memory.words import MAX_TERMS, any_of, folded, query_terms


def matches(text: str, question: str) -> bool:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        database.execute("INSERT INTO words VALUES (?)", (folded(text),))
        terms = query_terms(question)
        query = "SELECT 1 FROM words WHERE words MATCH ?"
        return bool(terms) and database.execute(query, (any_of(terms),)).fetchone() is not None


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The boat is blue.", "BOATS?"),
        ("Two boats.", "boat"),
        ("Reservierung am Freitag", "reserv"),
        ("Café à Đà Nẵng", "ca phe cafe da nang"),
        ("船是蓝色的", "蓝色"),
        ("船是蓝色的", "什么颜色蓝色"),
        ("今日は良い天気", "天気"),
        ("서울은 맑음", "서울"),
        ("Full-width ＡＢＣ", "abc"),
        ("Planted on 2026-03-02", "2026-03-02"),
        ("don't forget", "don't"),
        ("key: foo_bar", "foo_bar"),
    ],
)
def test_a_question_finds_the_text_that_a_person_would_expect(text: str, question: str) -> None:
    assert matches(text, question)


@pytest.mark.parametrize(("text", "question"), [("The boat.", "goat"), ("船是蓝色的", "红色"), ("boat", "???")])
def test_a_question_does_not_find_what_has_none_of_its_words(text: str, question: str) -> None:
    assert not matches(text, question)


@given(
    st.text()
    | st.text(alphabet="\"'*^():+-{}\\\0 ANDORNEAT.,好é\u0301\u200d_", max_size=60)
    | st.sampled_from(["a AND", "NEAR(", "body:x", '"', "* *", "NOT", "(", "^a", "a OR OR b", "\ud800x"])
)
def test_no_question_is_ever_a_syntax_error(question: str) -> None:
    matches("some words", question.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def test_only_words_of_three_characters_and_more_match_longer_ones() -> None:
    assert query_terms("be bea bean-") == ('"be"', '"bea"*', '"bean-"')


def test_lone_surrogates_are_no_obstacle() -> None:
    assert not matches("some words", "\ud800x \udfff")


def test_a_long_question_is_cut_to_its_first_words() -> None:
    assert len(query_terms(" ".join(f"word{number}" for number in range(100)))) == MAX_TERMS
