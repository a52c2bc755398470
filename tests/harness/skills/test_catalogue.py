"""The list of skills is written within its budget, and what gave way is said."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.layers import Layer, LayerName, LeftOut, Lifetime, Trust
from harness.skills import (
    ListingOptions,
    PathNaming,
    ReadTool,
    RemoteNode,
    Shell,
    Skill,
    SkillCatalogue,
    SkillGates,
    SkillSource,
    Tier,
    build_catalogue,
    skills_layer,
)
from harness.skills.order import name_key
from harness.skills.wording import compact_note, introduction, remote_note, truncated_note
from harness.units import utf16_units
from tests.harness.skills.shelf import OPTIONS, skill

WEATHER = skill("weather", "Looks up the <weather> & 'more'", file="/home/ann/ws/skills/weather/SKILL.md")
FRAME = "\n\n\n\n<available_skills>\n</available_skills>"


def skills(count: int) -> list[Skill]:
    return [skill(f"s{number:03}", "d" * 40) for number in range(count)]


def full_size(count: int) -> int:
    return build_catalogue(skills(count), replace(OPTIONS, max_units=10**9, max_skills=10**9)).units


def test_the_list_names_describes_locates_and_versions_each_skill() -> None:
    """S71 S72: the list itself, and the words that tell the model to read and to read again."""
    options = replace(OPTIONS, naming=PathNaming(homes=("/home/ann",)))
    catalogue = build_catalogue([WEATHER], options)
    assert catalogue.text == (
        "\n\n"
        "Each skill listed here holds instructions for one kind of task.\n"
        "When its description fits the task, load the skill's file with `read` from the exact location given and "
        "follow it.\n"
        "When a skill's version differs from the one in an earlier turn, load its file again before using it.\n"
        "A relative path in a skill file starts at the folder of that file; make it a full path before using it in "
        "a command.\n"
        "\n"
        "<available_skills>\n"
        "  <skill>\n"
        "    <name>weather</name>\n"
        "    <description>Looks up the &lt;weather&gt; &amp; &apos;more&apos;</description>\n"
        "    <location>~/ws/skills/weather/SKILL.md</location>\n"
        "    <version>sha256:0123456789abcdef</version>\n"
        "  </skill>\n"
        "</available_skills>"
    )
    assert (
        catalogue.tier,
        catalogue.count,
        catalogue.total,
        catalogue.dropped,
        catalogue.notes,
        catalogue.warning,
    ) == (
        Tier.FULL,
        1,
        1,
        (),
        (),
        "",
    )
    assert catalogue.units == catalogue.raw_units == utf16_units(catalogue.text)


def test_native_codex_is_told_of_the_shell_and_never_of_a_read_tool() -> None:
    """S74: native Codex has no read tool, so its text names the shell."""
    text = build_catalogue([WEATHER], replace(OPTIONS, loading=Shell())).text
    assert "with a shell command (`cat`; leave a leading ~ outside of quotes)" in text
    assert "read" not in text


def test_the_read_tool_keeps_the_letter_case_in_which_it_is_offered() -> None:
    """S72."""
    assert "with `Read` from" in build_catalogue([WEATHER], replace(OPTIONS, loading=ReadTool("Read"))).text


def test_without_a_skill_there_is_no_text() -> None:
    """S73."""
    assert build_catalogue([], replace(OPTIONS, max_units=0)) == SkillCatalogue()
    assert skills_layer(SkillCatalogue()) == LeftOut(LayerName.SKILLS, "skills", "no skill is eligible")


def test_the_layer_lasts_for_the_turn_and_is_the_workspaces_word() -> None:
    """S74: turn-scoped."""
    catalogue = build_catalogue([WEATHER], OPTIONS)
    assert skills_layer(catalogue) == Layer(
        LayerName.SKILLS, "skills", Lifetime.TURN, Trust.WORKSPACE, catalogue.text.strip()
    )


def test_the_layer_of_a_list_that_gave_way_tells_the_size_of_the_full_one() -> None:
    """S78."""
    catalogue = build_catalogue(skills(40), replace(OPTIONS, max_units=3_000))
    assert skills_layer(catalogue) == Layer(
        LayerName.SKILLS, "skills", Lifetime.TURN, Trust.WORKSPACE, catalogue.text.strip(), full_size(40)
    )


def test_the_size_of_a_list_follows_from_the_sizes_of_its_values() -> None:
    one = skill("a-name", "Some words", file="/p/SKILL.md")
    values = len(one.name) + len(one.description) + len(one.file)
    base = len(introduction(ReadTool(), descriptions=True)) + len(FRAME)
    assert build_catalogue([one], OPTIONS).units == base + 97 + 47 + values
    base = len(introduction(ReadTool(), descriptions=False)) + len(FRAME)
    note = compact_note(OPTIONS.check_command)
    crowd = [one, *skills(80)]
    size = len(note) + 1 + base + 65 + 47 + len(one.name) + len(one.file)
    size += 80 * (65 + 47 + len("s000") + len("/ws/skills/s000/SKILL.md"))
    compact = build_catalogue(crowd, replace(OPTIONS, max_units=size))
    assert (compact.tier, compact.units) == (Tier.COMPACT, size)


def test_sizes_are_counted_in_utf16_units() -> None:
    plain, emoji = skill("a", "x"), skill("a", "🌦")
    assert build_catalogue([emoji], OPTIONS).units == build_catalogue([plain], OPTIONS).units + 1


def test_a_list_that_just_fits_is_full_and_one_unit_less_makes_it_compact() -> None:
    """Rule 13. S78."""
    size = full_size(30)
    assert build_catalogue(skills(30), replace(OPTIONS, max_units=size)).tier is Tier.FULL
    compact = build_catalogue(skills(30), replace(OPTIONS, max_units=size - 1))
    assert (compact.tier, compact.count, compact.dropped) == (Tier.COMPACT, 30, ())
    assert compact.notes == (compact_note("gateway skills list"),)
    assert compact.text.startswith(compact.notes[0] + "\n\n\n")
    assert "<description>" not in compact.text
    assert "descriptions are left out for space" in compact.text
    assert compact.warning == "The descriptions of all 30 skills were left out so that the list fits the prompt."


def test_when_even_the_names_do_not_fit_the_longest_beginning_is_listed() -> None:
    """S78."""
    options = replace(OPTIONS, max_units=3_000)
    catalogue = build_catalogue(skills(40), options)
    assert catalogue.tier is Tier.TRUNCATED
    assert 0 < catalogue.count < 40
    assert catalogue.notes == (truncated_note(catalogue.count, 40, compact=True, check_command="gateway skills list"),)
    assert catalogue.text.startswith(f"⚠️ Skills truncated: included {catalogue.count} of 40 (compact format")
    assert [entry.name for entry in catalogue.entries] == [f"s{number:03}" for number in range(catalogue.count)]
    assert catalogue.dropped == tuple(f"s{number:03}" for number in range(catalogue.count, 40))
    assert catalogue.warning.startswith(f"{40 - catalogue.count} of 40 skills do not fit the prompt: s0")
    row = catalogue.entries[0].units
    assert 3_000 - row - 2 < catalogue.units <= 3_000


def test_too_many_skills_are_cut_even_when_there_is_room() -> None:
    catalogue = build_catalogue(skills(5), replace(OPTIONS, max_skills=3))
    assert (catalogue.tier, catalogue.count, catalogue.total, catalogue.dropped) == (Tier.FULL, 3, 5, ("s003", "s004"))
    assert catalogue.notes == ("⚠️ Skills truncated: included 3 of 5. `gateway skills list` shows what is missing.",)
    assert "<description>" in catalogue.text


def test_a_budget_of_nothing_lists_nothing_and_still_says_so() -> None:
    note = truncated_note(0, 3, compact=True, check_command="gateway skills list")
    catalogue = build_catalogue(skills(3), replace(OPTIONS, max_units=0))
    assert (catalogue.text, catalogue.tier, catalogue.dropped) == (note, Tier.TRUNCATED, ("s000", "s001", "s002"))
    assert build_catalogue(skills(3), replace(OPTIONS, max_skills=0)).dropped == ("s000", "s001", "s002")


def test_paths_are_shortened_before_the_list_is_measured() -> None:
    """Rule 13."""
    far = [skill(f"s{n}", file=f"/home/{'x' * 200}/skills/s{n}/SKILL.md") for n in range(3)]
    options = replace(OPTIONS, naming=PathNaming(homes=(f"/home/{'x' * 200}",)))
    assert build_catalogue(far, options).units == build_catalogue(far, OPTIONS).units - 3 * (len("/home/") + 199)


def test_a_persons_own_skill_stays_when_bundled_ones_must_give_way() -> None:
    bundled = [skill(f"a{n:02}", source=SkillSource.BUNDLED) for n in range(40)]
    catalogue = build_catalogue([*bundled, skill("zebra")], replace(OPTIONS, max_units=3_000))
    assert [entry.name for entry in catalogue.entries][-1] == "zebra"
    assert "zebra" not in catalogue.dropped
    counted = build_catalogue([*bundled, skill("zebra")], replace(OPTIONS, max_skills=2))
    assert [entry.name for entry in counted.entries] == ["a00", "zebra"]


def test_a_connected_mac_is_named_when_a_listed_skill_needs_one() -> None:
    mac_only = skill("notes", gates=SkillGates(os=("darwin",)))
    nodes = (RemoteNode("attic", "darwin"), RemoteNode("shed", "linux"))
    options = replace(OPTIONS, remote_how="`exec` with host set to node")
    note = "A Mac is connected (attic). Run the commands of skills that need macOS there: `exec` with host set to node."
    catalogue = build_catalogue([mac_only], options, platform="linux", nodes=nodes)
    assert catalogue.notes == (note,)
    assert catalogue.text.startswith(f"{note}\n\n\n")
    assert catalogue.units == utf16_units(catalogue.text)
    limited = build_catalogue([mac_only], replace(options, max_units=0), platform="linux", nodes=nodes)
    assert limited.notes == (note, truncated_note(0, 1, compact=True, check_command="gateway skills list"))
    for silent in (
        build_catalogue([mac_only], OPTIONS, platform="linux", nodes=nodes),
        build_catalogue([mac_only], options, platform="linux", nodes=nodes[1:]),
        build_catalogue([mac_only], options, platform="darwin", nodes=nodes),
        build_catalogue([WEATHER], options, platform="linux", nodes=nodes),
    ):
        assert silent.notes == ()


def test_the_note_does_not_grow_with_the_number_of_machines() -> None:
    assert remote_note([f"m{n}" for n in range(5)], "x").startswith("A Mac is connected (m0, m1, m2 and 2 more).")
    assert remote_note(["a\n<b>"], "x").startswith("A Mac is connected (a (b)).")


@settings(max_examples=60, deadline=None)
@given(
    budget=st.integers(-5, 6_000),
    most=st.integers(-1, 30),
    found=st.lists(
        st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=60), st.sampled_from(list(SkillSource))),
        max_size=25,
        unique_by=lambda item: item[0],
    ),
)
def test_a_list_never_exceeds_its_budget_and_accounts_for_every_skill(
    budget: int, most: int, found: list[tuple[str, str, SkillSource]]
) -> None:
    """S78."""
    listed = sorted(
        (skill(name, text, source=source) for name, text, source in found), key=lambda one: name_key(one.name)
    )
    options = ListingOptions(Shell(), "gateway skills list", max_skills=most, max_units=budget)
    catalogue = build_catalogue(listed, options)
    names = [entry.name for entry in catalogue.entries]
    assert catalogue == build_catalogue(listed, options)
    assert catalogue.units == utf16_units(catalogue.text)
    assert catalogue.units <= budget or not names
    assert sorted([*names, *catalogue.dropped]) == sorted(one.name for one in listed)
    assert names == [one.name for one in listed if one.name in set(names)]
    assert catalogue.text.count("  <skill>\n") == catalogue.count <= max(most, 0)
