from pathlib import Path

from harness.compose import CRON_GUIDANCE, LIFETIMES, ONLY_POINTED_TO, Material, compose
from harness.habits import Habits
from harness.layers import Composition, Layer, LayerName, LeftOut, Lifetime, Trust
from harness.settings.files import FileLimits
from harness.turns import Trigger
from harness.workspace.budget import build_context
from harness.workspace.entries import LeftOutFile, WorkspaceFile
from harness.workspace.reads import Content, Missing, ReadResult, Refusal, Refused

CODEX = Habits(reads_agents_file=True, points_to_heartbeat_file=True, marks_missing_files=False)
EMBEDDED = Habits()
SKILLS = Layer(LayerName.SKILLS, "skills", Lifetime.TURN, Trust.WORKSPACE, "a list")


def content(text: str) -> Content:
    return Content(text, "/w/file", None)


def file(name: str, read: ReadResult | str) -> WorkspaceFile:
    return WorkspaceFile(name, f"/w/{name}", content(read) if isinstance(read, str) else read)


def material(*files: WorkspaceFile, trigger: Trigger = Trigger.CHAT, **rest: object) -> Material:
    context = build_context(files, FileLimits())
    return Material(trigger=trigger, files=context, **rest)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def shown(composition: Composition) -> tuple[list[str], dict[str, str]]:
    layers = [f"{layer.name.value}: {layer.text}" for layer in composition.layers]
    return layers, {each.name.value: each.reason for each in composition.left_out}


def test_files_come_in_reading_order() -> None:
    """S51, S52."""
    composition = compose(
        material(
            file("TOOLS.md", "printer"), file("USER.md", "metric"), file("IDENTITY.md", "Pell"), file("SOUL.md", "dry"),
            agents_file=file("AGENTS.md", "short\n"), skills=SKILLS, memory_note="look it up",
        ),
        CODEX,
    )  # fmt: skip
    assert shown(composition) == (
        [
            "workspace/AGENTS.md: short",
            "workspace/TOOLS.md: printer",
            "workspace/SOUL.md: dry",
            "workspace/IDENTITY.md: Pell",
            "workspace/USER.md: metric",
            "gateway/memory-note: look it up",
            "gateway/skills: a list",
        ],
        {},
    )
    lifetimes = {layer.name: layer.lifetime for layer in composition.layers if layer.name in LIFETIMES}
    assert lifetimes == {name: LIFETIMES[name] for name in lifetimes}


def test_codex_gets_no_markers_and_every_absence_has_its_reason() -> None:
    composition = compose(
        material(
            file("SOUL.md", Missing()), file("USER.md", Refused(Refusal.TOO_LARGE)), file("TOOLS.md", " \n"),
            agents_file=file("AGENTS.md", Refused(Refusal.OUTSIDE)),
            left_out=(
                LeftOutFile("BOOTSTRAP.md", "/w/BOOTSTRAP.md", "the workspace is set up"),
                LeftOutFile("HEARTBEAT.md", "/w/HEARTBEAT.md", ONLY_POINTED_TO),
            ),
            memory_note_reason="no memory tool is offered", memory_reason="this is a group",
            skills=LeftOut(LayerName.SKILLS, "skills", "no skill is eligible"),
        ),
        CODEX,
    )  # fmt: skip
    assert shown(composition) == (
        [],
        {
            "workspace/AGENTS.md": Refusal.OUTSIDE.value,
            "workspace/TOOLS.md": "the file is empty",
            "workspace/SOUL.md": "the file does not exist",
            "workspace/USER.md": Refusal.TOO_LARGE.value,
            "workspace/HEARTBEAT.md": "this is not a heartbeat",
            "gateway/memory-note": "no memory tool is offered",
            "gateway/skills": "no skill is eligible",
            "workspace/BOOTSTRAP.md": "the workspace is set up",
            "workspace/MEMORY.md": "this is a group",
        },
    )


def test_other_backends_get_a_marker_for_a_missing_file() -> None:
    """S57, S61."""
    layers, left_out = shown(compose(material(file("SOUL.md", Missing()), file("AGENTS.md", "short")), EMBEDDED))
    assert layers == [
        "workspace/AGENTS.md: short",
        "workspace/SOUL.md: [MISSING] Expected at: /w/SOUL.md",
    ]
    assert left_out == {}


def test_a_heartbeat_on_codex_gets_guidance_first_and_a_pointer_and_never_the_file() -> None:
    """S53."""
    composition = compose(
        material(
            file("SOUL.md", "dry"),
            left_out=(LeftOutFile("HEARTBEAT.md", "/w/HEARTBEAT.md", ONLY_POINTED_TO),),
            trigger=Trigger.HEARTBEAT, heartbeat_guidance="guidance", heartbeat_pointer="- /w/HEARTBEAT.md",
        ),
        CODEX,
    )  # fmt: skip
    assert shown(composition) == (
        [
            "gateway/heartbeat-guidance: guidance",
            "workspace/SOUL.md: dry",
            "gateway/heartbeat-pointer: - /w/HEARTBEAT.md",
        ],
        {"workspace/HEARTBEAT.md": "a heartbeat gets its path, never its content"},
    )


def test_a_heartbeat_file_that_asks_for_nothing_is_not_pointed_to() -> None:
    composition = compose(material(trigger=Trigger.HEARTBEAT, heartbeat_guidance="guidance"), CODEX)
    assert shown(composition)[1]["gateway/heartbeat-pointer"] == "the file asks for nothing"


def test_a_light_scheduled_run_carries_its_message_and_the_guidance_alone() -> None:
    """S74."""
    composition = compose(material(trigger=Trigger.CRON, skills=SKILLS, light=True), CODEX)
    assert shown(composition) == (
        [f"gateway/cron-guidance: {CRON_GUIDANCE}"],
        {"gateway/skills": "a light run keeps the scheduled message as it is"},
    )


def test_an_agents_file_that_a_hook_made_is_a_further_file_for_codex() -> None:
    """S66: Codex reads the one on disk, so the hook's own text travels apart."""
    hooked = WorkspaceFile("AGENTS.md", "/w/AGENTS.md", content("from a hook"), from_hook=True)
    composition = compose(material(hooked, agents_file=file("AGENTS.md", "on disk")), CODEX)
    assert [(layer.name, layer.text, layer.source) for layer in composition.layers[:2]] == [
        (LayerName.AGENTS, "on disk", "/w/AGENTS.md"),
        (LayerName.EXTRA, "from a hook", "/w/AGENTS.md"),
    ]


def test_a_cut_file_keeps_the_size_it_has_on_disk() -> None:
    context = build_context((file("SOUL.md", "x" * 30_000),), FileLimits())
    composition = compose(Material(trigger=Trigger.CHAT, files=context), CODEX)
    soul = composition.get(LayerName.SOUL)
    assert soul is not None
    assert (soul.raw_units, soul.units <= 20_000, Path(soul.source).name) == (30_000, True, "SOUL.md")
