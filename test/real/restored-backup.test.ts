/** A control plane whose etcd is restored from a copy while an operator runs (F25): resource versions go back. */
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Operator } from 'kopf'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../tools/envtest/control-plane.ts'
import { untilHandled } from '../support/handled.ts'
import { Lab } from '../support/lab.ts'

let plane: ControlPlane
let lab: Lab

beforeAll(async () => {
  plane = await startControlPlane({ controllers: false })
  lab = new Lab({ cluster: plane })
  await lab.open()
})

afterAll(async () => {
  await lab.stopAll()
  await plane.stop()
})

/** Runs `work` while etcd and the API server are down, and starts them again. */
async function withoutServers(work: () => Promise<void>): Promise<void> {
  await plane.killApiServer()
  await plane.killEtcd()
  await work()
  await plane.startEtcd()
  await plane.startApiServer()
}

test('an operator drops objects that a restored etcd does not have, and handles later changes', async () => {
  const [etcd, backup] = [join(plane.folder, 'etcd'), join(plane.folder, 'backup')]
  const diffs: unknown[] = []
  const kopf = new Operator({ settings: { watching: { inactivityTimeout: 10 } } })
  const sizes = kopf.index(lab.widgets, { id: 'sizes' }, ({ name, spec }) => ({ [name]: spec['size'] }))
  const isKeptAt = (size: number) => [...(sizes.get('kept') ?? [])].includes(size)
  kopf.on.update(lab.widgets, ({ name, diff }) => void diffs.push([name, diff]))
  await lab.create('kept', { spec: { size: 1 } })
  await lab.create('early', { spec: { size: 1 } })
  const running = await lab.start(kopf)
  for (const name of ['kept', 'early']) await untilHandled(lab, name)
  await lab.stop(running)
  await withoutServers(() => cp(etcd, backup, { recursive: true }))

  await lab.start(kopf)
  for (let size = 2; size <= 20; size += 1) await lab.patch('kept', { spec: { size } })
  await lab.create('late', { spec: { size: 1 } })
  await lab.delete('early')
  await lab.until(() => sizes.has('late') && !sizes.has('early') && isKeptAt(20))
  for (const name of ['kept', 'late']) await untilHandled(lab, name)
  await withoutServers(async () => {
    await rm(etcd, { recursive: true })
    await cp(backup, etcd, { recursive: true })
  })

  // The server accepts a watch from a future version and sends nothing: the operator notices after its inactivity timeout.
  await vi.waitFor(() => expect(isKeptAt(1)).toBe(true), { timeout: 150_000, interval: 500 })
  await lab.until(() => sizes.has('early') && !sizes.has('late') && isKeptAt(1))
  diffs.length = 0
  for (const name of ['kept', 'early']) await lab.patch(name, { spec: { size: 7 } })
  for (const name of ['kept', 'early']) await untilHandled(lab, name)
  const change = [['change', ['spec', 'size'], 1, 7]]
  expect(diffs).toEqual(
    expect.arrayContaining([
      ['kept', change],
      ['early', change],
    ]),
  )
}, 240_000)
