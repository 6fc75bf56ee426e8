/**
 * A fuzzer for hostile authors (H1, H2, H3 and H5): it writes objects of one namespace with anything that the API server accepts, while
 * a canary in another namespace must be handled all the time. KOPF_HOSTILE_SEED repeats a failing seed; KOPF_HOSTILE_RUNS runs more.
 */
import { type ChangeArgs, type OpenObject, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { Author, forgedMark } from './hostile-writes.ts'

const lab = useCleanLab()
const mergePatch = 'application/merge-patch+json'
const canaryNamespace = `${lab.namespace}-canary`
const names = ['victim', 'one', 'two', 'three']
const actions = 40

const runs = Number(process.env['KOPF_HOSTILE_RUNS'] ?? 1)
const given = process.env['KOPF_HOSTILE_SEED']
const seeds = given === undefined ? Array.from({ length: runs }, (_, index) => `author-${index}`) : [given]

interface Witness {
  readonly operator: Operator
  /** Results of steps as the handlers got them. */
  readonly results: unknown[]
  /** The sizes of the handled canaries. */
  readonly canaries: unknown[]
}

/** An operator with handlers of all types that an author can reach. */
function createWitness(): Witness {
  const results: unknown[] = []
  const canaries: unknown[] = []
  const kopf = new Operator({ name: 'deputy', settings: { execution: { defaultBackoff: 0.2 } } })
  const nothing = () => {}
  const provision = async ({ name, namespace, spec, retry, step, subhandler }: ChangeArgs<OpenObject, object>) => {
    if (namespace === canaryNamespace) return void canaries.push(spec['size'])
    results.push(await step('bucket', () => ({ name: `bucket-of-${name}` })))
    subhandler('part', nothing)
    if (retry === 0) throw new TemporaryError('once more', { delay: 0.1 })
  }
  kopf.on.create(lab.widgets, { id: 'provision', retries: 5 }, provision)
  kopf.on.update(lab.widgets, { id: 'provision', retries: 5 }, provision)
  kopf.on.resume(lab.widgets, { id: 'provision', retries: 5 }, provision)
  kopf.on.delete(lab.widgets, { id: 'drop', optional: true }, nothing)
  kopf.on.field(lab.widgets, 'spec.a.a', { id: 'field' }, ({ diff }) => void JSON.stringify(diff))
  kopf.on.event(lab.widgets, { id: 'watch' }, ({ body }) => void JSON.stringify(body))
  kopf.index(lab.widgets, { id: 'by-label' }, ({ labels, name }) => ({ [String(labels['tier'])]: name }))
  kopf.timer(lab.widgets, { id: 'tick', interval: 5 }, ({ patch, spec }) => {
    patch.status['ticks'] = typeof spec['size'] === 'number' ? spec['size'] : 0
  })
  kopf.reconcile(
    lab.widgets,
    { id: 'serve', owns: ['configmaps'], cleanup: true },
    async ({ name, step, deleting }) => {
      if (deleting) return undefined
      results.push(await step('account', () => ({ name: `account-of-${name}` })))
      return { children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { of: name } }] }
    },
  )
  return { operator: kopf, results, canaries }
}

const canaryPath = `/apis/${lab.group}/v1/namespaces/${canaryNamespace}/widgets`

async function poke(size: number): Promise<void> {
  const { status } = await lab.call('PATCH', `${canaryPath}/canary`, { spec: { size } }, mergePatch)
  if (status === 200) return
  const canary = { apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name: 'canary' }, spec: { size } }
  expect((await lab.call('POST', canaryPath, canary)).status).toBe(201)
}

/** One write of the author, which the API server may refuse. Returns the status. */
async function act(author: Author, uids: string[]): Promise<number> {
  const name = author.pick(names)
  if (author.chance(0.1)) return (await lab.call('DELETE', lab.path(name))).status
  const fields = author.drawFields(uids)
  const path = author.chance(0.2) ? `${lab.path(name)}/status` : lab.path(name)
  const patched = await lab.call('PATCH', path, fields, mergePatch)
  if (patched.status !== 404) return patched.status
  const { metadata, ...rest } = fields as { metadata: Tree }
  const object = { apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { ...metadata, name }, ...rest }
  const { status, body } = await lab.call('POST', lab.path(), object)
  if (status === 201) uids.push((body as Body).metadata.uid!)
  return status
}

async function createVictim(): Promise<Body> {
  const path = `/api/v1/namespaces/${lab.namespace}/configmaps`
  await lab.call('DELETE', `${path}/victim`)
  const victim = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'victim' }, data: { of: 'others' } }
  const { status, body } = await lab.call('POST', path, victim)
  expect(status).toBe(201)
  return body
}

test.each(seeds)('a hostile author affects no other object, and forged results are ignored (seed %s)', async (seed) => {
  await lab.call('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: canaryNamespace },
  })
  const victim = await createVictim()
  const author = new Author(seed)
  const uids: string[] = []
  const statuses: number[] = []
  let witness = createWitness()
  let running = await lab.start(witness.operator, { namespaces: [lab.namespace, canaryNamespace] })
  for (let action = 0; action < actions; action += 1) {
    statuses.push(await act(author, uids))
    if (action % 10 === 5) {
      const size = 1000 + action
      await poke(size)
      await lab.until(() => witness.canaries.includes(size))
    }
    if (action % 20 === 15) {
      const { results } = witness
      await lab.stop(running)
      witness = createWitness()
      witness.results.push(...results)
      running = await lab.start(witness.operator, { namespaces: [lab.namespace, canaryNamespace] })
    }
  }
  await poke(9999)
  await lab.until(() => witness.canaries.includes(9999))
  expect(statuses.filter((status) => status < 300).length).toBeGreaterThan(actions / 3)
  expect(JSON.stringify(witness.results)).not.toContain(forgedMark)
  expect(Object.prototype).not.toHaveProperty('success')
  expect((await lab.call('GET', `/api/v1/namespaces/${lab.namespace}/configmaps/victim`)).body).toEqual(victim)
  await lab.stop(running)
})
