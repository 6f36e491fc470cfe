# SPDX-License-Identifier: Apache-2.0
"""Real engines for tests, chosen from the list by their properties.

A test that takes one from here holds for any engine with these properties.
"""

from holdfast import catalog

_ENGINES = catalog.engines()

# All that run here, and those of them that promise anything over a crash.
NATIVE = [engine.name for engine in _ENGINES if not engine.simulated_only]
DURABLE = [engine.name for engine in _ENGINES if engine.durable and not engine.simulated_only]
VOLATILE = next(engine.name for engine in _ENGINES if not engine.durable)

# Two durable ones: without and with a log that can be replayed on its own.
FIRST = next(e.name for e in _ENGINES if e.name in DURABLE and not e.replays)
REPLAYED, OTHER_REPLAYED = [e.name for e in _ENGINES if e.name in DURABLE and e.replays][:2]
BOTH = (FIRST, REPLAYED)

# Durable ones whose durability may lag, without a journal.
LAGGING = [e.name for e in _ENGINES if e.name in DURABLE and e.lags]
