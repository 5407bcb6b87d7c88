"""Secrets on a command line: what looks like one is not kept in a bundle, which is a file that people send to others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MASK = "***"  # what the bundle has instead; the program that starts a run again knows it (server/session/profiling/plan.cpp)
SHORTEST = 4  # a shorter value is no secret worth hiding in other texts, and would hide parts of words there

# The last word of an option's name: --password, --db_passwd, trainer.secret
_ALONE = {"password", "passwd", "passphrase", "pwd", "secret", "secrets", "apikey", "credential", "credentials", "authorization"}
# Words that make a key or a token one: a vocabulary has tokens too (--pad-token), and a dictionary keys.
_OWNERS = {"api", "access", "auth", "account", "secret", "private", "license", "encryption", "signing", "service", "client", "bearer"}
_OWNERS |= {"hf", "hub", "huggingface", "wandb", "comet", "neptune", "clearml", "mlflow", "openai", "anthropic", "github", "gitlab", "gh"}
_OWNERS |= {"aws", "azure", "gcp", "s3", "slack", "telegram", "bot", "session", "refresh", "login", "user", "git"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ASSIGNED = re.compile(r"(?P<name>[-+~]{0,2}[A-Za-z][\w.:/@-]*)=(?P<value>.+)", re.DOTALL)
# What services hand out is known by its shape, wherever it stands.
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9]{16,}[\w-]*|\bhf_[A-Za-z0-9]{16,}|\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}"
    r"|\bglpat-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|(?<=://)[^\s/:@]*:[^\s/@]+(?=@)"
)


def names_a_secret(option: str) -> bool:
    """`--api-key`, `--hf_token`, `wandb.apiKey`; not `--pad-token`, `--max-tokens`, `--tokenizer`, `--key`."""
    words = [word.lower() for word in _WORD.findall(option)]
    if not words:
        return False
    if words[-1] in _ALONE or words == ["token"]:
        return True
    if words[-1] not in ("key", "token"):
        return False
    return len(words) > 1 and words[-2] in _OWNERS


@dataclass
class Masked:
    """A command line without its secrets; `names` says where they stood."""

    words: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)

    def text(self, text: str) -> str:
        """The same in other words, as an error that repeats an argument."""
        for secret in sorted((s for s in self.secrets if len(s) >= SHORTEST), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text

    def facts(self, facts: dict[str, Any]) -> dict[str, Any]:
        return {key: self.text(value) if isinstance(value, str) else value for key, value in facts.items()}

    def _hide(self, name: str, secret: str) -> str:
        if name not in self.names:
            self.names.append(name)
        self.secrets.append(secret)
        return MASK

    def _shapes(self, word: str) -> str:
        return _SHAPES.sub(lambda found: self._hide("an argument", found.group()), word)


def masked(argv: Sequence[str]) -> Masked:
    """`argv` is the script and its arguments, or `-m`, the module and its arguments."""
    found = Masked()
    option = ""  # the word before, where it names a secret that is to follow
    for word in argv:
        assigned = _ASSIGNED.fullmatch(word)
        if option and not word.startswith("-"):
            found.words.append(found._hide(option, word))
        elif assigned is not None and names_a_secret(assigned["name"]):
            found.words.append(f"{assigned['name']}={found._hide(assigned['name'], assigned['value'])}")
        else:
            found.words.append(found._shapes(word))
        option = word if word.startswith("-") and assigned is None and names_a_secret(word) else ""
    return found
