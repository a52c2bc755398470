"""Skills of one name are merged, and everything found gets a verdict."""

from harness.skills import Host, SkillEntry, SkillGates, SkillRules, SkillSource, Standing, Why
from harness.skills.judging import for_agent, judge
from harness.skills.values import Refused
from tests.harness.skills.shelf import RULES, skill

NOTHING: frozenset[str] = frozenset()


def test_the_source_of_higher_precedence_hides_the_other_and_the_list_is_alphabetical() -> None:
    own = skill("b")
    bundled = skill("b", source=SkillSource.BUNDLED, file="/pkg/skills/b/SKILL.md")
    last = skill("A", source=SkillSource.EXTRA)
    judgement = judge([own, bundled, last], RULES, NOTHING)
    assert judgement.eligible == (last, own)
    assert [(one.name, one.source, one.standing, one.why, one.reason) for one in judgement.verdicts] == [
        ("A", SkillSource.EXTRA, Standing.IN, Why.ELIGIBLE, "meets all its requirements"),
        ("b", SkillSource.WORKSPACE, Standing.IN, Why.ELIGIBLE, "meets all its requirements"),
        (
            "b",
            SkillSource.BUNDLED,
            Standing.OUT,
            Why.SHADOWED,
            "is hidden by the skill of the same name at /ws/skills/b/SKILL.md; rename one of them",
        ),
    ]


def test_a_skill_hides_its_namesake_even_while_it_is_not_eligible_itself() -> None:
    judgement = judge(
        [skill("b", gates=SkillGates(os=("darwin",))), skill("b", source=SkillSource.BUNDLED)], RULES, NOTHING
    )
    assert [one.why for one in judgement.verdicts] == [Why.OS, Why.SHADOWED]


def test_a_file_that_could_not_be_used_hides_nothing() -> None:
    refused = Refused("b", "/ws/skills/b/SKILL.md", SkillSource.WORKSPACE, Why.UNSAFE, "links out")
    bundled = skill("b", source=SkillSource.BUNDLED)
    judgement = judge([refused, bundled], RULES, NOTHING)
    assert judgement.eligible == (bundled,)
    assert [(one.standing, one.why) for one in judgement.verdicts] == [
        (Standing.OUT, Why.UNSAFE),
        (Standing.IN, Why.ELIGIBLE),
    ]


def test_archived_skills_are_dropped_and_hidden_ones_stay_commands() -> None:
    rules = SkillRules(Host("linux"), archived=frozenset({"old"}), hidden=frozenset({"quiet"}))
    judgement = judge([skill("old"), skill("quiet")], rules, NOTHING)
    assert [one.name for one in judgement.eligible] == ["quiet"]
    assert [(one.standing, one.why) for one in judgement.verdicts] == [
        (Standing.OUT, Why.ARCHIVED),
        (Standing.COMMAND_ONLY, Why.HIDDEN),
    ]


def test_an_agents_list_takes_out_what_it_does_not_name() -> None:
    """S76."""
    judgement = judge([skill("a"), skill("b"), skill("c")], RULES, NOTHING)
    verdicts = for_agent(judgement, frozenset({"a", "b"}), frozenset({"b"}))
    assert [(one.standing, one.why) for one in verdicts] == [
        (Standing.IN, Why.ELIGIBLE),
        (Standing.OUT, Why.NO_ROOM),
        (Standing.OUT, Why.NOT_ALLOWED),
    ]


def test_a_judgement_with_the_help_of_an_earlier_one_is_the_same_as_without() -> None:
    one, two, three = skill("a"), skill("a", source=SkillSource.BUNDLED, file="/pkg/a/SKILL.md"), skill("c")
    rules = SkillRules(Host("linux"), entries={"c": SkillEntry(enabled=False)})
    earlier = judge([one, two, three], rules, NOTHING)
    for found in ([one, two, three], [two, three], [two, one], [skill("c", "New words")]):
        assert judge(found, rules, NOTHING, earlier=earlier) == judge(found, rules, NOTHING)
