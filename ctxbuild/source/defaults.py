"""What holds unless the ctxfile says otherwise: above all, what stays out by its name.

The lists are short on purpose. A name is listed only if it practically never is
a source that somebody writes by hand; a package of one's own called `vendor`,
`build`, `env` or `dist` is such a source, so ignore rules decide about those.
"""

from __future__ import annotations

DEFAULT_BUDGET = 8_000

VENDORED_DIRECTORIES = frozenset(
    {"node_modules", "bower_components", "jspm_packages", "site-packages", "__pycache__"}
)
VENDORED_SUFFIXES = (".egg-info", ".dist-info")
# A file whose presence says what its whole directory is.
MARKERS = {"pyvenv.cfg": "vendored", "CACHEDIR.TAG": "vendored"}

SECRET_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"})
SECRET_NAMES = frozenset(
    {
        ".env",
        ".envrc",
        ".flaskenv",
        ".git-credentials",
        ".htpasswd",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pgpass",
        ".my.cnf",
        ".pypirc",
        ".yarnrc.yml",
        ".dockercfg",
        ".s3cfg",
        ".boto",
        ".vault-token",
        "credentials",
        "credentials.json",
        "client_secret.json",
        "application_default_credentials.json",
        "terraform.tfvars",
        "terraform.tfstate",
        "terraform.tfstate.backup",
    }
)
_KEY_NAMES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk")
_SECRET_SUFFIXES = (
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".ppk",
    ".jks",
    ".keystore",
    ".kdbx",
    ".keytab",
    ".gpg",
    ".ovpn",
)
_SECRET_STEMS = ("secrets", "secret", "credentials")
_DATA_SUFFIXES = (".json", ".yaml", ".yml", ".toml", ".ini", ".properties")
_ENV_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")


def is_secret(name: str) -> bool:
    """Whether a file of that name usually holds credentials."""
    name = name.lower()
    if name.startswith(".env.") or name.endswith(".env"):
        return not name.endswith(_ENV_EXAMPLES)
    if name in SECRET_NAMES or name in _KEY_NAMES or name.endswith(_SECRET_SUFFIXES):
        return True
    stem, dot, suffix = name.rpartition(".")
    if not dot:
        return False
    if stem in _SECRET_STEMS and dot + suffix in _DATA_SUFFIXES:
        return True
    return suffix == "json" and stem.startswith(("service-account", "service_account"))


def is_secret_directory(name: str) -> bool:
    """Whether a directory of that name usually holds credentials."""
    return name.lower() in SECRET_DIRECTORIES


def is_vendored(name: str) -> bool:
    """Whether a directory of that name holds what other people or tools made."""
    return name in VENDORED_DIRECTORIES or name.endswith(VENDORED_SUFFIXES)
