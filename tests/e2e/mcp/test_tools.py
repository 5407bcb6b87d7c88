"""The tools, through the official client, which holds every answer against the tool's output schema."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import HOTLENS, speak
from mcp import Client, types

TOOLS = {"report", "hot_lines", "check", "diff", "predict", "whatif", "profile"}
# What an agent can read beside its work: about 2,000 tokens.
MOST_BYTES = 8000


async def ask(client: Client, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """The structured answer, which has to be short and the same as the text."""
    result = await client.call_tool(name, arguments or {})
    assert not result.is_error, result.content
    [text] = result.content
    assert isinstance(text, types.TextContent)
    assert len(text.text) < MOST_BYTES
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refusal(client: Client, name: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    [text] = result.content
    assert isinstance(text, types.TextContent)
    return text.text


def test_every_tool_has_schemas_and_says_whether_it_runs_code(recorded: Path) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        for name, tool in tools.items():
            assert tool.description and tool.input_schema["additionalProperties"] is False and tool.output_schema
            assert tool.annotations and tool.annotations.read_only_hint is (name != "profile")
        assert client.protocol_version == "2025-11-25"
        assert client.server_info.name == "hotlens"

    speak(recorded, talk)


def test_report_and_hot_lines_name_files_and_lines(recorded: Path) -> None:
    text = (recorded / "train.py").read_text().splitlines()

    async def talk(client: Client) -> None:
        report = await ask(client, "report")
        assert report["step_ns"] > 0 and report["verdict"]["kind"]
        assert abs(sum(stage["share"] for stage in report["stages"]) - 1) < 0.05
        layers = {module["path"]: module for module in report["modules"]}
        assert layers["wide"]["file"] == "train.py"
        assert text[layers["wide"]["line"] - 1].strip().startswith("self.wide =")
        assert len((await ask(client, "report", {"limit": 1}))["modules"]) == 1
        lines = await ask(client, "hot_lines", {"limit": 3})
        assert lines["lines"] and len(lines["lines"]) <= 3 <= lines["total"]
        assert all(text[line["line"] - 1].strip() == line["text"] for line in lines["lines"])
        shares = [line["share"] for line in lines["lines"]]
        assert shares == sorted(shares, reverse=True)

    speak(recorded, talk)


def test_check_shows_what_an_editor_shows(recorded: Path) -> None:
    text = (recorded / "train.py").read_text().splitlines()

    async def talk(client: Client) -> None:
        [file] = (await ask(client, "check", {"files": ["train.py"]}))["files"]
        assert file["known"] and file["total"] == len(file["lines"])
        hints = {text[line["line"] - 1].strip(): line["hint"] for line in file["lines"]}
        assert "ms" in hints["x = self.back(torch.relu(self.wide(x)))"]

    speak(recorded, talk)


def test_diff_tells_which_module_became_slower(recorded: Path) -> None:
    async def talk(client: Client) -> None:
        diff = await ask(client, "diff")
        assert diff["step"]["new_ns"] > diff["step"]["old_ns"]
        [added] = [module for module in diff["modules"] if module["path"] == "extra"]
        assert added["outcome"] == "added" and added["file"] == "train.py" and added["new_ns"] > 0
        same = await ask(client, "diff", {"old": "latest", "new": "latest"})
        assert same["step"]["outcome"] == "same" and same["modules"] == []

    speak(recorded, talk)


def test_profiles_are_resources(recorded: Path) -> None:
    async def talk(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert len(listed) == 2 and listed[0].name > listed[1].name and "train.py" in (listed[0].title or "")
        [content] = (await client.read_resource(listed[0].uri)).contents
        assert isinstance(content, types.TextResourceContents) and "wide" in content.text
        for uri in ("hotlens://profile/none", "hotlens://profile/../x", "file:///etc/passwd"):
            with pytest.raises(Exception, match="no such"):
                await client.read_resource(uri)

    speak(recorded, talk)


def test_what_if_lists_changes_and_prediction_says_what_is_missing(recorded: Path) -> None:
    async def talk(client: Client) -> None:
        found = await ask(client, "whatif", {"list": True})
        assert {item["kind"] for item in found["items"]} | {each["kind"] for each in found["refused"]}
        assert "is no change that is known" in await refusal(client, "whatif", {"kinds": ["--apply"]})
        assert "--batch-sizes" in await refusal(client, "predict", {"batch_sizes": [8]})

    speak(recorded, talk)


def test_wrong_input_is_an_answer_that_says_what_is_wrong(recorded: Path) -> None:
    async def talk(client: Client) -> None:
        wrong: list[tuple[str, dict[str, Any], str]] = [
            ("report", {"profil": "latest"}, "`profil` is no argument of report"),
            ("report", {"profile": 3}, "expected a string at /profile"),
            ("report", {"profile": "none"}, "no such profile"),
            ("report", {"profile": "/etc/passwd"}, "is not in"),
            ("report", {"profile": "../.."}, "is not in"),
            ("check", {}, "/files"),
            ("check", {"files": "train.py"}, "/files"),
            ("check", {"files": ["missing.py"]}, "is not a file"),
            ("check", {"files": ["/etc/passwd"]}, "is not in"),
            ("check", {"files": ["../../../../../../../etc/passwd"]}, "is not in"),
            ("predict", {"batch_sizes": []}, "1 to 8 numbers"),
            ("predict", {"batch_sizes": ["x"]}, "/batch_sizes/0"),
        ]
        for name, arguments, words in wrong:
            assert words in await refusal(client, name, arguments), (name, arguments)
        with pytest.raises(Exception, match="no such tool"):
            await client.call_tool("rm", {})
        await ask(client, "report")

    speak(recorded, talk)


def test_a_folder_without_profiles_says_how_to_get_one(fresh: Path) -> None:
    async def talk(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        for name in ("report", "hot_lines", "diff"):
            assert "profile" in await refusal(client, name, {})

    speak(fresh, talk)


def test_nothing_runs_where_nobody_can_be_asked(fresh: Path) -> None:
    async def talk(client: Client) -> None:
        assert "--allow-run" in await refusal(client, "profile", {"script": "train.py"})

    speak(fresh, talk)
    assert not (fresh / ".hotlens").exists()


def test_the_person_sees_the_command_and_may_refuse(fresh: Path) -> None:
    asked: list[str] = []

    async def decline(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="decline")

    async def talk(client: Client) -> None:
        words = await refusal(client, "profile", {"script": "train.py", "arguments": ["--name", "a b"]})
        assert "did not allow" in words

    speak(fresh, talk, elicitation_callback=decline)
    assert len(asked) == 1 and "train.py --name 'a b'" in asked[0] and str(fresh) in asked[0]
    assert not (fresh / ".hotlens").exists()


def test_an_allowed_run_is_profiled_with_progress(fresh: Path) -> None:
    heard: list[float] = []

    async def accept(_context: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    async def progress(done: float, _total: float | None, message: str | None) -> None:
        assert message
        heard.append(done)

    async def talk(client: Client) -> None:
        result = await client.call_tool("profile", {"script": "train.py"}, progress_callback=progress)
        assert not result.is_error, result.content
        answer = result.structured_content
        assert answer and answer["hot_lines"][0]["file"] == "train.py"
        assert heard and heard == sorted(set(heard))
        assert (await ask(client, "report"))["profile"] == answer["profile"]

    speak(fresh, talk, elicitation_callback=accept)


def test_a_script_that_fails_says_why(fresh: Path) -> None:
    async def talk(client: Client) -> None:
        assert "no data" in await refusal(client, "profile", {"script": "train.py", "arguments": ["--fail"]})
        assert "is not in" in await refusal(client, "profile", {"script": HOTLENS})

    speak(fresh, talk, "--allow-run")


def children(folder: Path) -> list[int]:
    """Processes that work in the folder."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes() if process.name.isdigit() else b""
            if b"train.py" in command and (process / "cwd").resolve() == folder.resolve():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def gone(folder: Path) -> bool:
    end = time.monotonic() + 10
    while children(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return not children(folder)


def test_a_run_ends_when_it_is_late_cancelled_or_left_alone(fresh: Path) -> None:
    endless = {"script": "train.py", "arguments": ["--endless"]}
    shutil.rmtree(fresh / ".hotlens", ignore_errors=True)
    (fresh / "train.py").write_text("import time\ntime.sleep(600)\n")

    async def talk(client: Client) -> None:
        assert "timeout_s" in await refusal(client, "profile", {**endless, "timeout_s": 1})
        assert gone(fresh)
        call = asyncio.create_task(client.call_tool("profile", endless))
        while not children(fresh):
            await asyncio.sleep(0.05)
        assert "in progress" in await refusal(client, "profile", endless)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await asyncio.to_thread(gone, fresh)
        left = asyncio.create_task(client.call_tool("profile", endless))
        while not children(fresh):
            await asyncio.sleep(0.05)
        left.cancel()

    speak(fresh, talk, "--allow-run")
    assert gone(fresh)
