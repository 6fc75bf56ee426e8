"""The same operator as peering.ts: it logs its calls, has a timer for each object, and takes part in a peering."""

import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


@kopf.on.startup()
def configure(settings, **_):
    settings.peering.lifetime = int(os.environ['LIFETIME'])


@kopf.on.create(*WIDGETS, id='handle')
async def handle(name, logger, **_):
    logger.info(f'handled {name}')
    return {'by': 'python'}


@kopf.on.resume(*WIDGETS, id='take')
async def take(name, logger, **_):
    logger.info(f'taken {name}')


@kopf.timer(*WIDGETS, id='tick', interval=0.3)
async def tick(logger, **_):
    logger.info('tick')
