/** A server that was killed finishes its interrupted work after the restart, and never shows writes that are not on disk. */
import type { ApiServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { crd, crdsPath } from '../../../support/crds.ts'
import { startOnDisk } from '../../../support/disk-server.ts'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { ManualClock, settle } from '../../../support/manual-clock.ts'
import { configMap, namespace, object } from '../../../support/objects.ts'
import { problem, UnreliableDisk } from '../../../support/unreliable-disk.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'

interface Metadata {
  readonly uid: string
}

const read = async (api: ApiServer, path: string) => (await ask(api, 'GET', path)).status

/** Waits until no controller writes any more. Every step of a controller waits for the disk. */
async function quiet(api: ApiServer): Promise<void> {
  for (let version = ''; version !== api.version; ) {
    version = api.version
    for (let turn = 0; turn < 3; turn += 1) await settle()
  }
}

/** Runs `act` once for each of its disk operations, kills the server at that operation, and checks the restarted server. */
async function atEveryStep(
  prepare: (api: ApiServer) => Promise<void>,
  act: (api: ApiServer) => Promise<unknown>,
  check: (api: ApiServer) => Promise<void>,
): Promise<void> {
  for (let step = 1, isOver = false; !isOver; step += 1) {
    const clock = new ManualClock()
    const disk = new UnreliableDisk()
    const api = await startOnDisk(disk, clock)
    await prepare(api)
    await quiet(api)
    const before = disk.operations
    disk.stopAt = before + step
    void act(api)
    await quiet(api)
    isOver = disk.operations < disk.stopAt
    const next = await startOnDisk(disk.afterCrash(), clock)
    await quiet(next)
    await check(next)
  }
}

describe('controllers killed at every step', () => {
  test('the garbage collector deletes orphans after the server was killed at any step', async () => {
    await atEveryStep(
      async (api) => {
        const owner = (await ask(api, 'POST', configMaps, { body: configMap('owner') })).body['metadata'] as Metadata
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.uid }]
        for (const name of ['a', 'b'])
          await ask(api, 'POST', configMaps, { body: configMap({ name, ownerReferences }) })
      },
      (api) => ask(api, 'DELETE', `${configMaps}/owner`),
      async (api) => {
        const expected = await read(api, `${configMaps}/owner`)
        for (const name of ['a', 'b']) expect(await read(api, `${configMaps}/${name}`)).toBe(expected)
      },
    )
  })

  test('a foreground deletion completes after the server was killed at any step', async () => {
    await atEveryStep(
      async (api) => {
        const owner = (await ask(api, 'POST', configMaps, { body: configMap('owner') })).body['metadata'] as Metadata
        const reference = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: 'owner',
          uid: owner.uid,
          blockOwnerDeletion: true,
        }
        await ask(api, 'POST', configMaps, { body: configMap({ name: 'a', ownerReferences: [reference] }) })
      },
      (api) => ask(api, 'DELETE', `${configMaps}/owner?propagationPolicy=Foreground`),
      async (api) => expect(await read(api, `${configMaps}/a`)).toBe(await read(api, `${configMaps}/owner`)),
    )
  })

  test('a namespace deletion completes after the server was killed at any step', async () => {
    const inside = '/api/v1/namespaces/brief/configmaps'
    await atEveryStep(
      async (api) => {
        await ask(api, 'POST', '/api/v1/namespaces', { body: namespace('brief') })
        for (const name of ['a', 'b']) await ask(api, 'POST', inside, { body: configMap(name) })
      },
      (api) => ask(api, 'DELETE', '/api/v1/namespaces/brief'),
      async (api) => {
        const { status, text } = await ask(api, 'GET', '/api/v1/namespaces/brief')
        expect(text).not.toContain('Terminating')
        expect(await read(api, `${inside}/a`)).toBe(status)
      },
    )
  })

  test('a CRD deletion completes after the server was killed at any step', async () => {
    const widgets = '/apis/example.com/v1/namespaces/default/widgets'
    const name = `${crdsPath}/widgets.example.com`
    await atEveryStep(
      async (api) => {
        await ask(api, 'POST', crdsPath, { body: crd({ group: 'example.com', kind: 'Widget' }) })
        await quiet(api)
        await ask(api, 'POST', widgets, { body: object('example.com/v1', 'Widget', 'one') })
      },
      (api) => ask(api, 'DELETE', name),
      async (api) => expect(await read(api, `${widgets}/one`)).toBe(await read(api, name)),
    )
  })

  test('a new CRD is served after the server was killed at any step', async () => {
    const name = `${crdsPath}/widgets.example.com`
    await atEveryStep(
      async () => {},
      (api) => ask(api, 'POST', crdsPath, { body: crd({ group: 'example.com', kind: 'Widget' }) }),
      async (api) => expect(await read(api, '/apis/example.com/v1/widgets')).toBe(await read(api, name)),
    )
  })
})

describe('writes that are not yet on disk', () => {
  /** A server with a slow disk: writes are stored when `finish` is called. */
  async function slow() {
    const disk = new UnreliableDisk()
    const clock = new ManualClock()
    const api = await startOnDisk(disk, clock)
    await quiet(api)
    let isSlow = true
    const waiting: Array<(error?: Error) => void> = []
    const { create } = disk
    disk.create = async (name) => {
      const file = await create.call(disk, name)
      const wait = () =>
        new Promise<void>((resolve, reject) => waiting.push((error) => (error ? reject(error) : resolve())))
      const sync = async () => {
        if (isSlow) await wait()
        await file.sync()
      }
      return { ...file, sync }
    }
    // A failed write makes the server create a new file, which is a slow one.
    disk.fault = (operation) => {
      if (operation === 'write') throw problem('EIO')
      return undefined
    }
    await ask(api, 'POST', configMaps, { body: configMap('lost') })
    disk.fault = () => undefined
    isSlow = false
    await clock.advance(1000)
    isSlow = true
    const finish = async (error?: Error) => {
      for (const each of waiting.splice(0)) each(error)
      await quiet(api)
    }
    return { api, clock, finish }
  }

  test('a write that is not yet on disk is not acknowledged, read, listed, watched, or reason for a conflict', async () => {
    const { api, finish } = await slow()
    const told: string[] = []
    const watch = await InProcessWatch.open(api, configMaps)
    void watch.next().then((event) => told.push(`watched ${event}`))
    const note = (what: string, path: string, method = 'GET', body?: object) =>
      void ask(api, method, path, body === undefined ? {} : { body }).then(({ status }) =>
        told.push(`${what} ${status}`),
      )
    note('created', configMaps, 'POST', configMap('a'))
    await settle()
    note('read', `${configMaps}/a`)
    note('listed', configMaps)
    note('refused', configMaps, 'POST', configMap('a'))
    // Requests without objects do not wait for the disk.
    note('healthy', '/readyz')
    await quiet(api)
    expect(told).toEqual(['healthy 200'])
    await finish()
    expect(told.slice(1).sort()).toEqual(['created 201', 'listed 200', 'read 200', 'refused 409', 'watched ADDED a'])
  })

  test('a write that cannot be stored on disk is refused, and readers see the former state', async () => {
    const { api, clock, finish } = await slow()
    const watch = await InProcessWatch.open(api, configMaps)
    const created = ask(api, 'POST', configMaps, { body: configMap('a') })
    await settle()
    const readers = [ask(api, 'GET', `${configMaps}/a`), ask(api, 'GET', configMaps)]
    const opening = InProcessWatch.open(api, `${configMaps}?resourceVersion=0`)
    await finish(problem('ENOSPC'))
    const { status, headers, body } = await created
    expect({ status, retryAfter: headers['retry-after'], reason: body['reason'] }).toEqual({
      status: 500,
      retryAfter: '1',
      reason: 'InternalError',
    })
    expect(body['message']).toContain('the change cannot be kept: ENOSPC')
    const [one, all] = await Promise.all(readers)
    expect([one!.status, all!.body['items']]).toEqual([404, []])
    expect((await ask(api, 'POST', configMaps, { body: configMap('b') })).status).toBe(500)
    await clock.advance(1000)
    await finish()
    void ask(api, 'POST', configMaps, { body: configMap('c') })
    await quiet(api)
    await finish()
    const late = await opening
    expect([await watch.next(), await late.next()]).toEqual(['ADDED c', 'ADDED c'])
  })

  test('a controller repeats its write when the disk works again', async () => {
    const { api, clock, finish } = await slow()
    const write = async (method: string, path: string, body?: object) => {
      const reply = ask(api, method, path, body === undefined ? {} : { body })
      await quiet(api)
      await finish()
      return (await reply).body
    }
    const { uid } = (await write('POST', configMaps, configMap('owner')))['metadata'] as Metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
    await write('POST', configMaps, configMap({ name: 'a', ownerReferences }))
    await write('DELETE', `${configMaps}/owner`)
    // The write of the garbage collector fails.
    await finish(problem('EIO'))
    expect(await read(api, `${configMaps}/a`)).toBe(200)
    await clock.advance(1000)
    await finish()
    await finish()
    expect(await read(api, `${configMaps}/a`)).toBe(404)
  })
})
