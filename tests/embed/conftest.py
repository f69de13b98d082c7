import pytest
from installing import BUILD, ROOT, run


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A prefix that the library was installed into."""
    prefix = tmp_path_factory.mktemp("installed") / "prefix"
    run(["cmake", "--install", BUILD, "--prefix", prefix, "--strip"], ROOT)
    return prefix
