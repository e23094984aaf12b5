"""From words on safety to policies: what is blocked, where, and who asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.banner import describe_safety
from antiphon.safety.policy import Annotations, Policy, Side
from antiphon.safety.verdict import CATEGORIES, FAILURE, SAFE, Severity, Stage, Verdict
from antiphon.settings import Settings, SettingsError, load
from antiphon.settings.policies import policies

OTHERS = ("openai", "crazyrouter", "maritaca")
ROUTES = """
[[upstream]]
name = "up"
protocol = "scripted"
"""
RULES = '[[safety.evaluator]]\nkind = "rules"\nname = "list"\nwords = ["x"]\n'


def read(folder: Path, text: str, route: str = "", key: str = "") -> Settings:
    own = [
        f'[[route]]\nmodel = "m"\ntargets = [{{ upstream = "up" }}]\n{route and f"safety = {{ {route} }}"}\n',
        f'[[key]]\nname = "k"\nsecret = "env:K"\n{key and f"safety = {{ {key} }}"}\n',
    ]
    (folder / "a.toml").write_text("\n".join([ROUTES, *own, text]))
    return load(str(folder / "a.toml"), {"K": "sk-1"}, ("scripted",))


def find(folder: Path, text: str, dialect: str = "openai", route: str = "", key: str = "") -> Policy:
    policy = policies(read(folder, text, route, key)).find("m", "k", dialect)
    assert policy is not None
    return policy


def violent(severity: Severity) -> Verdict:
    return Verdict(severities=(*SAFE[:-1], severity))


def blocks_from(side: Side) -> str:
    """The least severity of violence that is blocked."""
    assert CATEGORIES[-1] == "violence"
    found = [each for each in Severity if side.decide(violent(each)).blocked]
    return found[0].name.lower() if found else "-"


# What the settings say -> from which severity violence is blocked in prompts: in skytells, elsewhere.
CASES = {
    "": ("medium", "-"),
    "[safety]\nenabled = true": ("medium", "-"),
    "[safety]\nblock_status = 451": ("medium", "-"),
    '[safety]\nmax_text = 1000\ntoo_long = "unjudged"': ("medium", "-"),
    '[safety]\nmode = "filter"': ("medium", "medium"),
    '[safety]\nmode = "annotate"': ("-", "-"),
    '[safety]\npreset = "moderate"': ("medium", "medium"),
    '[safety]\npreset = "strict"': ("low", "low"),
    '[safety]\npreset = "minimal"': ("high", "high"),
    '[safety]\npreset = "annotate-only"': ("-", "-"),
    '[safety]\npreset = "strict"\nmode = "annotate"': ("-", "-"),
    '[safety]\npreset = "annotate-only"\nmode = "filter"': ("medium", "medium"),
    '[safety]\nthreshold = "high"': ("high", "high"),
    '[safety]\nthreshold = "off"': ("-", "-"),
    '[safety]\nthreshold = "low"\nmode = "annotate"': ("-", "-"),
    '[safety.prompt]\nmode = "filter"': ("medium", "medium"),
    '[safety.prompt]\nmode = "annotate"': ("-", "-"),
    '[safety.prompt]\nthreshold = "low"': ("low", "low"),
    '[safety.answer]\nmode = "filter"': ("medium", "-"),
    '[safety.answer]\nmode = "annotate"': ("medium", "-"),
    '[safety.answer]\nthreshold = "low"': ("medium", "-"),
    '[safety.prompt]\nviolence = "filter"': ("medium", "medium"),
    '[safety.prompt]\nviolence = "annotate"': ("-", "-"),
    '[safety.prompt]\nviolence = "high"': ("high", "high"),
    '[safety.prompt]\nviolence = "off"': ("-", "-"),
    '[safety.prompt]\nhate = "low"': ("medium", "-"),
    '[safety.prompt]\nhate = "filter"': ("medium", "-"),
    '[safety.prompt]\njailbreak = "filter"': ("medium", "-"),
    '[safety]\nmode = "annotate"\n[safety.prompt]\nviolence = "high"': ("-", "-"),
    '[safety]\nmode = "annotate"\n[safety.prompt]\nviolence = "filter"': ("medium", "medium"),
    '[safety]\nmode = "filter"\n[safety.prompt]\nviolence = "annotate"': ("-", "-"),
    '[safety]\non_failure = "closed"': ("medium", "-"),
    RULES: ("medium", "-"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_who_asks_for_a_block(tmp_path: Path, text: str, expected: tuple[str, str]) -> None:
    skytells, others = expected
    assert blocks_from(find(tmp_path, text, "skytells").prompt) == skytells
    for dialect in OTHERS:
        assert blocks_from(find(tmp_path, text, dialect).prompt) == others


# The server's, the key's and the route's words -> in skytells, elsewhere.
LAYERS = {
    ("", 'mode = "filter"', ""): ("medium", "medium"),
    ("", 'preset = "strict"', ""): ("low", "low"),
    ("", "", 'threshold = "high"'): ("high", "high"),
    ("", "", 'prompt = { violence = "low" }'): ("low", "low"),
    ("", 'mode = "annotate"', ""): ("-", "-"),
    ("", 'mode = "annotate"', 'preset = "strict"'): ("low", "low"),
    ("", 'preset = "strict"', 'mode = "annotate"'): ("low", "low"),
    ("", 'preset = "strict"', 'preset = "minimal"'): ("low", "low"),
    ("", 'threshold = "low"', 'threshold = "off"'): ("low", "low"),
    ("", 'prompt = { hate = "low" }', 'mode = "annotate"'): ("-", "-"),  # each category by itself
    ('mode = "annotate"', "", 'threshold = "low"'): ("-", "-"),  # a mode that was said holds
    ('mode = "annotate"', 'threshold = "low"', 'mode = "filter"'): ("medium", "medium"),
    ('mode = "filter"', "", 'annotations = "every"'): ("medium", "medium"),
    ('mode = "filter"', "", 'threshold = "high"'): ("medium", "medium"),
    ('mode = "filter"', "", "enabled = false"): ("medium", "medium"),
    ('mode = "filter"', "", 'prompt = { violence = "off" }'): ("medium", "medium"),
    ('preset = "strict"', 'preset = "annotate-only"', ""): ("low", "low"),
    ("", 'annotations = "every"', "block_status = 451"): ("medium", "-"),
    ("", 'annotations = "every"', 'mode = "annotate"'): ("-", "-"),
    # A route that has the last word
    ("", 'preset = "strict"', 'override = true, mode = "annotate"'): ("-", "-"),
    ("", 'preset = "strict"', "override = true"): ("low", "low"),
    ('preset = "strict"', "", 'override = true, threshold = "high"'): ("high", "high"),
    ('preset = "strict"', 'threshold = "high"', 'override = true, annotations = "every"'): ("high", "high"),
    ('mode = "filter"', "", 'override = true, prompt = { violence = "off" }'): ("-", "-"),
}


@pytest.mark.parametrize(("words", "expected"), LAYERS.items())
def test_the_strictest_counts_unless_a_route_overrides(
    tmp_path: Path, words: tuple[str, str, str], expected: tuple[str, str]
) -> None:
    server, key, route = words
    found = [find(tmp_path, f"[safety]\n{server}", dialect, route, key) for dialect in ("skytells", "openai")]
    assert tuple(blocks_from(policy.prompt) for policy in found) == expected


WORDS = (
    "",
    'mode = "filter"',
    'mode = "annotate"',
    'preset = "strict"',
    'preset = "minimal"',
    'threshold = "low"',
    'threshold = "off"',
    'prompt = { violence = "high" }',
    'prompt = { mode = "annotate", violence = "filter" }',
    "enabled = false",
)


@pytest.mark.parametrize("dialect", ["openai", "skytells"])
@pytest.mark.parametrize("server", WORDS[:-1])
def test_a_route_never_weakens_what_a_key_asks_for_nor_a_key_a_route(tmp_path: Path, server: str, dialect: str) -> None:
    """Whatever both say, with both in force everything is blocked that is blocked for either of them alone."""

    def blocked(key: str, route: str) -> set[Severity]:
        settings = read(tmp_path, f"[safety]\n{server}", route, key)
        policy = policies(settings).find("m", "k", dialect)
        return set() if policy is None else {s for s in Severity if policy.prompt.decide(violent(s)).blocked}

    for key in WORDS[1:]:
        alone = blocked(key, "")
        for route in WORDS[1:]:
            assert blocked(key, route) == alone | blocked("", route), (key, route)


def test_a_key_cannot_override(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="override"):
        read(tmp_path, "", key="override = true")


def test_the_stricter_way_to_wait_counts(tmp_path: Path) -> None:
    loose = 'prompt = "race", stream = "async", hold = { mode = "adaptive" }'
    strict = 'prompt = "gate", stream = "hold", hold = { mode = "full" }'
    for key, route, is_loose in (
        (loose, "", True),
        (loose, loose, True),
        (strict, loose, False),
        (loose, strict, False),
    ):
        policy = find(tmp_path, "", route=route, key=key)
        assert (policy.races, policy.asynchronous, policy.hold.adaptive) == (is_loose,) * 3


@pytest.mark.parametrize("dialect", ["openai", "skytells"])
@pytest.mark.parametrize(
    ("text", "blocked"),
    [
        (RULES, True),
        (RULES + 'mode = "annotate"', False),
        (RULES + '[safety]\nmode = "filter"', True),
        (RULES + '[safety]\nmode = "annotate"', False),
        (RULES + '[safety]\npreset = "annotate-only"', False),
        (RULES + '[safety.prompt]\nmode = "annotate"', False),
        (RULES + '[safety.answer]\nmode = "annotate"', True),
        (RULES + '[safety.prompt]\nviolence = "annotate"', True),
    ],
)
def test_a_list_blocks_unless_it_is_told_not_to(tmp_path: Path, dialect: str, text: str, blocked: bool) -> None:
    assert find(tmp_path, text, dialect).prompt.decide(Verdict(lists=("list",))).blocked is blocked


@pytest.mark.parametrize("dialect", ["openai", "skytells"])
@pytest.mark.parametrize(
    ("text", "blocked"),
    [
        ("", False),
        ('[safety]\nmode = "filter"', False),
        ('[safety]\npreset = "strict"', True),
        ('[safety]\npreset = "strict"\nmode = "annotate"', False),
        ('[safety.prompt]\njailbreak = "filter"', True),
        ('[safety]\nmode = "annotate"\n[safety.prompt]\njailbreak = "filter"', True),
        ('[safety]\npreset = "strict"\n[safety.prompt]\njailbreak = "annotate"', False),
    ],
)
def test_a_jailbreak_is_blocked_where_somebody_says_so(tmp_path: Path, dialect: str, text: str, blocked: bool) -> None:
    assert find(tmp_path, text, dialect).prompt.decide(Verdict(jailbreak=True)).blocked is blocked


@pytest.mark.parametrize("dialect", ["openai", "skytells"])
def test_closed_keeps_its_meaning(tmp_path: Path, dialect: str) -> None:
    side = find(tmp_path, '[safety]\nmode = "annotate"\non_failure = "closed"', dialect).answer
    assert (side.blocks, side.filters) == (True, False)
    assert side.decide(FAILURE).unjudged
    assert not side.decide(violent(Severity.HIGH)).blocked


@pytest.mark.parametrize(
    ("text", "prompt", "answer"),
    [
        ("", False, False),
        ('[safety]\nmode = "filter"', True, True),
        ('[safety]\nmode = "filter"\nthreshold = "off"', False, False),
        ('[safety.answer]\nsexual = "low"', False, True),
        ('[safety.answer]\nprotected_material_code = "filter"', False, True),
        ('[safety.prompt]\njailbreak = "filter"', True, False),
        ('[safety]\non_failure = "closed"', True, True),
        (RULES, True, True),
        (RULES + 'mode = "annotate"', False, False),
    ],
)
def test_a_side_knows_whether_it_can_block(tmp_path: Path, text: str, prompt: bool, answer: bool) -> None:
    policy = find(tmp_path, text)
    assert (policy.prompt.blocks, policy.answer.blocks) == (prompt, answer)


def test_a_side_that_is_tightened_can_block(tmp_path: Path) -> None:
    side = find(tmp_path, "").answer
    assert (side.stage, side.blocks, side.tightened().blocks) == (Stage.ANSWER, False, True)


@pytest.mark.parametrize(
    ("text", "route", "expected"),
    [
        ("", "", Annotations.CHANGES),
        ("[safety]\nannotations = true", "", Annotations.CHANGES),
        ("[safety]\nannotations = false", "", Annotations.NONE),
        ('[safety]\nannotations = "every"', "", Annotations.EVERY),
        ('[safety]\nannotations = "every"', "annotations = false", Annotations.NONE),
        ("[safety]\nannotations = false", 'annotations = "every"', Annotations.EVERY),
    ],
)
def test_annotations(tmp_path: Path, text: str, route: str, expected: Annotations) -> None:
    found = find(tmp_path, text, route=route).annotations
    assert found is expected
    assert bool(found) is (expected is not Annotations.NONE)


def test_the_hold(tmp_path: Path) -> None:
    hold = find(tmp_path, "").hold
    assert (hold.tokens, hold.characters, hold.ms, hold.adaptive) == (64, 256, 500, False)
    text = '[safety]\nhold = { tokens = 16, mode = "adaptive" }'
    hold = find(tmp_path, text, key="hold = { ms = 80 }").hold
    assert (hold.tokens, hold.characters, hold.ms, hold.adaptive) == (16, 64, 80, True)
    assert not find(tmp_path, text, route='hold = { mode = "full" }').hold.adaptive


# Which policy is found


def test_a_policy_is_one_object_for_all_that_say_the_same(tmp_path: Path) -> None:
    same = "".join(
        f'[[route]]\nmodel = "{m}"\ntargets = [{{ upstream = "up" }}]\nsafety.mode = "filter"\n' for m in "ab"
    )
    found = policies(read(tmp_path, same, key='mode = "annotate"'))
    a, b, m, no_key = (found.find(*named) for named in (("a", "k"), ("b", "k"), ("m", "k"), ("m", None)))
    assert a is b
    assert a is found.find("a", "k", "maritaca")
    assert a is not found.find("a", "k", "skytells")
    assert len({a, m, no_key, found.find("a", None)}) == 4
    assert found.find("unknown", "unknown") is no_key
    assert found.find("m", "k") is m


def test_where_safety_is_off_nothing_is_found(tmp_path: Path) -> None:
    found = policies(read(tmp_path, "", route="enabled = false"))
    assert found.find("m", "k", "skytells") is None
    assert found.find("other", "k", "skytells") is not None
    found = policies(read(tmp_path, "[safety]\nenabled = false", route='mode = "filter"'))
    assert found.find("m", "k", "skytells") is None


# What is said of it


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "annotates; blocks in skytells (by embedded, protected)"),
        ('[safety]\nmode = "filter"', "blocks from medium (by embedded, protected)"),
        ('[safety]\npreset = "strict"', "blocks from low (by embedded, protected)"),
        ('[safety]\nmode = "annotate"', "annotates (by embedded, protected)"),
        ("[safety]\nenabled = false", "off"),
        (RULES, "blocks in part; blocks in skytells (by list)"),
        (RULES + '[safety]\nmode = "annotate"', "annotates (by list)"),
        ('[safety.prompt]\nhate = "low"', "blocks in part; blocks in skytells (by embedded, protected)"),
        ('[safety]\non_failure = "closed"\nmode = "annotate"', "annotates; closed on failure (by embedded, protected)"),
    ],
)
def test_the_banner_says_which_holds(tmp_path: Path, text: str, said: str) -> None:
    assert describe_safety(read(tmp_path, text)) == said


def test_the_banner_counts_rules_of_others(tmp_path: Path) -> None:
    said = "annotates; blocks in skytells (by embedded, protected); {} with own rules"
    assert describe_safety(read(tmp_path, "", route='mode = "filter"')) == said.format("1 route")
    both = read(tmp_path, "", route='mode = "filter"', key='mode = "filter"')
    assert describe_safety(both) == said.format("1 route and 1 key")
