from __future__ import annotations

import sys

import pytest

from jpweb.cli.local_cluster import cluster


async def test_failed_program_is_named_with_the_end_of_its_errors():
    program = "import sys; sys.exit('\\n'.join(f'line {n}' for n in range(9)))"
    with pytest.raises(cluster.SetupError) as failure:
        await cluster._run_for_output([sys.executable, "-c", program], "initdb")
    assert str(failure.value).splitlines() == [
        "initdb ended with code 1:",
        *(f"  line {number}" for number in range(4, 9)),
    ]
