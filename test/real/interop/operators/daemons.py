"""The same operator as daemons.ts: a daemon for each object, and one that outlives the delete handler of its object."""

import asyncio
import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


# Kopf checks a stopping daemon only after the polling time, even if the daemon ends earlier.
@kopf.daemon(*WIDGETS, labels={'case': 'watched'}, id='watch', cancellation_polling=0.3)
async def watch(name, spec, stopped, logger, **_):
    logger.info(f'watching {name}')
    await stopped.wait()
    logger.info(f"watched {name}: {spec['size']}")
    return {'by': 'python', 'size': spec['size']}


@kopf.daemon(*WIDGETS, labels={'case': 'lingering'}, id='linger')
async def linger(stopped, **_):
    await stopped.wait()
    while kopf.DaemonStoppingReason.OPERATOR_EXITING not in stopped.reason:
        await asyncio.sleep(0.1)


@kopf.on.delete(*WIDGETS, labels={'case': 'lingering'}, id='cleanup')
def cleanup(name, logger, **_):
    logger.info(f'cleaned up {name}')
