/** Every example is run on the embedded server, with the objects of its folder, and keeps what its README promises. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CustomResource, Operator, RunningOperator, RunOptions } from 'kopf'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { toCrds } from '../src/kube/crd.ts'
import { loadObjects } from '../src/server/load.ts'
import { parseYaml } from '../src/util/yaml.ts'
import { addressIn, ask } from './activities/support.ts'
import { type Body, Lab } from './support/lab.ts'

const example = 'kopf-example-1'
const examplesPath = '/apis/kopf.dev/v1/namespaces/default/kopfexamples'
const databasesPath = '/apis/example.com/v1/namespaces/default/databases'
const mergePatch = 'application/merge-patch+json'

let lab: Lab

beforeEach(async () => {
  lab = new Lab({ hasSockets: true })
  await lab.open()
})

afterEach(() => lab.stopAll())

/** As `kopf run operator.ts --embedded --apply object.yaml` does it. */
async function run(folder: string, options: RunOptions = {}): Promise<RunningOperator> {
  // Not by name: the compiler checks the examples as users do, not by the stricter rules of this house.
  const { default: operator } = (await import(`../examples/${folder}/operator.ts`)) as { default: Operator }
  await loadObjects(lab.server, toCrds(operator.resources as readonly CustomResource<object>[]))
  const text = readFileSync(join('examples', folder, 'object.yaml'), 'utf8')
  await loadObjects(lab.server, parseYaml(text))
  return lab.start(operator, { namespaces: ['default'], ...options })
}

async function until(path: string, isSo: (body: Body) => boolean): Promise<Body> {
  let last = {} as Body
  await lab.until(async () => {
    last = (await lab.call('GET', path)).body
    return isSo(last)
  })
  return last
}

const patch = (path: string, body: object) => lab.call('PATCH', path, body, mergePatch)
const linesOf = (name: string) => lab.logs.flatMap((line) => line.split(`[default/${name}] `)[1] ?? [])

test('01: the minimal one greets', async () => {
  await run('01-minimal')
  await lab.untilLogged('Creation is processed: 1 succeeded; 0 failed.')
  const { status } = await until(`${examplesPath}/${example}`, ({ status }) => status?.['greeted'])
  expect(status).toEqual({ greeted: true, create: { message: 'hello world' } })
  expect(linesOf(example)).toContain('And here we are! value')
})

test('02: what fails is tried again, as often as it should be', async () => {
  await run('02-retries')
  await lab.untilLogged('Creation is processed: 1 succeeded; 2 failed.')
  const { status } = await until(`${examplesPath}/${example}`, ({ status }) => status?.['patient'])
  expect(status).toEqual({ patient: { attempts: 3 } })
  const count = (text: string) => linesOf(example).filter((line) => line.startsWith(text)).length
  expect(count("Handler 'patient' failed temporarily: The disk is not ready yet")).toBe(2)
  expect(count("Handler 'unlucky' failed with an exception")).toBe(3)
  expect(count("Handler 'hopeless' failed permanently: There is no region")).toBe(1)
})

test('03: changes come as a diff, and field by field', async () => {
  await run('03-update-and-field')
  await lab.untilLogged('Creation is processed')
  expect(linesOf(example)).toContain('The size was undefined and is 1')
  await patch(`${examplesPath}/${example}`, { spec: { size: 2 } })
  await until(`${examplesPath}/${example}`, ({ status }) => status['size'] === 2)
  expect(linesOf(example)).toEqual(
    expect.arrayContaining(['change spec.size: 1 -> 2', 'The size was 1 and is 2', 'Moved from undefined to blue']),
  )
  await patch(`${examplesPath}/${example}`, { metadata: { labels: { team: 'green' } } })
  await lab.untilLogged('Moved from blue to green')
})

test('04: filters choose', async () => {
  await run('04-filters')
  const done = (name: string) => linesOf(name).some((line) => line.startsWith('Creation is processed'))
  await lab.until(() => ['small', 'large', 'paused'].every(done))
  const words = ['In production', 'Of a data team', 'Large, and not paused', 'Belongs to nobody']
  const said = (name: string) => linesOf(name).filter((line) => words.includes(line))
  expect(said('small')).toEqual(['In production', 'Belongs to nobody'])
  expect(said('large')).toEqual(['In production', 'Of a data team', 'Large, and not paused'])
  expect(said('paused')).toEqual(['In production'])
  await patch(`${examplesPath}/small`, { spec: { size: 20 } })
  await lab.untilLogged('[default/small] Has grown large')
})

test('05: the child has its owner, follows it, and goes with it', async () => {
  await run('05-children')
  const childPath = `/api/v1/namespaces/default/configmaps/${example}`
  await lab.untilLogged(`Made the config map ${example}`)
  const { body } = await lab.call('GET', childPath)
  expect(body).toMatchObject({
    data: { color: 'red' },
    metadata: { labels: { team: 'blue' }, ownerReferences: [{ kind: 'KopfExample', name: example }] },
  })
  await lab.untilLogged('Creation is processed')
  await patch(`${examplesPath}/${example}`, { spec: { color: 'green' } })
  await until(childPath, (child) => child['data']?.color === 'green')
  await lab.call('DELETE', `${examplesPath}/${example}`)
  await lab.until(async () => (await lab.call('GET', childPath)).status === 404)
})

test('06: sub-handlers are retried one by one', async () => {
  await run('06-subhandlers')
  await lab.untilLogged('Creation is processed')
  const { status } = await until(`${examplesPath}/${example}`, ({ status }) => status?.['items/banana'])
  expect(status).toEqual({
    'items/apple': { attempts: 1 },
    'items/banana': { attempts: 2 },
    'items/cherry': { attempts: 1 },
  })
  expect(linesOf(example).filter((line) => line.startsWith('Here is the'))).toEqual([
    'Here is the apple',
    'Here is the cherry',
    'Here is the banana',
  ])
})

test('07: the schema gives types, defaults, and refusals', async () => {
  await run('07-typed-with-zod')
  const { status } = await until(`${databasesPath}/orders`, (body) => body['status']?.phase === 'Ready')
  expect(status).toMatchObject({ phase: 'Ready', url: 'postgres://orders' })
  expect(linesOf('orders')).toContain('A postgres of size 2 for admin')
  await patch(`${databasesPath}/orders`, { spec: { size: 5 } })
  await lab.untilLogged('Growing by 3')
  const refused = await patch(`${databasesPath}/orders`, { spec: { engine: 'oracle' } })
  expect(refused.status).toBe(422)
})

test('08: events are seen, and the pods are left as they are', async () => {
  await run('08-events')
  await lab.untilLogged('[default/web-1] LISTED: Pending')
  const path = '/api/v1/namespaces/default/pods/web-1'
  await patch(`${path}/status`, { status: { phase: 'Running' } })
  await lab.untilLogged('[default/web-1] MODIFIED: Running')
  const { body } = await lab.call('GET', path)
  expect(body.metadata.annotations).toBeUndefined()
  expect(body.metadata.finalizers).toBeUndefined()
  await lab.call('DELETE', path, { gracePeriodSeconds: 0 })
  await lab.untilLogged('[default/web-1] DELETED: Running')
  expect(linesOf('other')).toEqual([])
})

test('09: startup comes first, cleanup last', async () => {
  const running = await run('09-startup-cleanup')
  const { metadata, status } = await until(`${examplesPath}/${example}`, ({ status }) => status?.['create'])
  expect(status).toEqual({ create: { message: `hello, ${example}` } })
  expect(metadata.finalizers).toEqual(['example.com/finalizer'])
  await lab.call('DELETE', `${examplesPath}/${example}`)
  await lab.until(async () => (await lab.call('GET', `${examplesPath}/${example}`)).status === 404)
  await lab.stop(running)
  const said = lab.logs.filter((line) => /Connected|Cleaned up|Disconnected/.test(line))
  expect(said).toEqual(['Connected', `[default/${example}] Cleaned up after it`, 'Disconnected'])
})

test('10: a daemon runs beside the object, sees its changes, and ends with it', async () => {
  const running = await run('10-daemons')
  const path = `${examplesPath}/${example}`
  // What is outside answers in its own time, whatever the clock of the operator says.
  const untilStatus = (expected: object) =>
    vi.waitFor(async () => expect((await lab.call('GET', path)).body.status).toEqual(expected), { timeout: 20_000 })
  await untilStatus({ pings: 1, answer: 'pong for /health' })
  await patch(path, { spec: { path: 'ready' } })
  await lab.elapse(5)
  await untilStatus({ pings: 2, answer: 'pong for /ready' })
  await lab.call('DELETE', path)
  await lab.until(async () => (await lab.call('GET', path)).status === 404)
  expect(linesOf(example)).toContain('Stopped: resource-deleted')
  await lab.stop(running)
})

test('11: timers are called at their intervals, or when changes have settled', async () => {
  await run('11-timers')
  const saying = (text: string) => linesOf(example).filter((line) => line.startsWith(text))
  await lab.elapse(2.9)
  expect(saying('Nothing has changed')).toEqual([])
  await patch(`${examplesPath}/${example}`, { spec: { text: 'hello, world' } })
  await lab.elapse(20)
  expect(saying('Nothing has changed')).toEqual(['Nothing has changed for a while: saving "hello, world"'])
  expect(saying('All is well')).toHaveLength(2)
  expect(saying('Not saved yet')).toEqual([])
  const { status } = (await lab.call('GET', `${examplesPath}/${example}`)).body
  expect(status).toEqual({ count: { calls: 12 }, saved: 'hello, world' })
})

test('12: each object has a memo of its own, and they share what the first one has', async () => {
  const running = await run('12-memos')
  await lab.untilLogged('1 events, one of 2 objects')
  await patch(`${examplesPath}/${example}`, { spec: { field: 'another' } })
  await lab.untilLogged('0 events, one of 2 objects')
  const counts = (name: string) => linesOf(name).filter((line) => line.includes('events'))
  expect(counts(example)).toEqual(['1 events, one of 2 objects', '1 events, one of 2 objects'])
  expect(counts('kopf-example-2')).toEqual(['1 events, one of 2 objects', '0 events, one of 2 objects'])
  await lab.stop(running)
  expect(lab.logs).toContain('Seen: kopf-example-1, kopf-example-2')
})

test('13: the index is complete before anybody is called, and follows what happens', async () => {
  await run('13-indices')
  await lab.untilLogged('Config maps: colours, sizes')
  await until(`${examplesPath}/${example}`, ({ status }) => status?.['count']?.configMaps === 2)
  await lab.call('DELETE', '/api/v1/namespaces/default/configmaps/sizes')
  await until(`${examplesPath}/${example}`, ({ status }) => status?.['count']?.configMaps === 1)
})

test('14: whoever looks is told how it is', async () => {
  await run('14-health', { livenessEndpoint: 'http://127.0.0.1:0/healthz' })
  const address = addressIn(lab.logs)
  const health = await ask(address, '/healthz')
  expect(health.status).toBe(200)
  expect(health.body).toEqual({ objects: 1, startedAt: expect.stringMatching(/^\d{4}-/) })
  expect(await ask(address, '/readyz')).toMatchObject({ status: 200, body: { ready: true } })
})

test('15: what is heavy runs elsewhere, and everything else goes on', async () => {
  await run('15-heavy')
  await lab.untilLogged('The largest of 5000 primes is 48611')
  const { status } = await until(`${examplesPath}/${example}`, ({ status }) => status?.['primes'])
  expect(status).toEqual({ primes: { largest: 48_611 } })
})

test('16: requests are completed, warned of, and refused', async () => {
  const running = await run('16-admission')
  const path = `${examplesPath}/${example}`
  const set = (numbers: unknown) => lab.outside(patch(path, { spec: { numbers } }))
  const denied = (handler: string, why: string) =>
    `admission webhook "${handler}.auto.kopf.dev" denied the request: ${why}`
  expect((await set(['7'])).headers['warning']).toEqual(['299 - "\\"7\\" is not a number but can be converted."'])
  expect(await set([101])).toMatchObject({
    status: 422,
    body: { message: denied('checknumbers', 'Numbers must be within 0 and 100.') },
  })
  expect((await set(null)).body.spec).toEqual({ numbers: [1, 2, 3] })
  const refusal = {
    status: 403,
    body: { message: denied('keepprotected', 'It is protected: take off the label first.') },
  }
  expect(await lab.outside(lab.call('DELETE', path))).toMatchObject(refusal)
  await lab.stop(running)
  expect((await lab.call('DELETE', path)).status).toBe(200)
})

test('17: an object is there in both versions', async () => {
  await run('17-conversion')
  const read = (version: string) =>
    lab.outside(lab.call('GET', `${databasesPath.replace('/v1/', `/${version}/`)}/orders`))
  expect((await read('v2')).body.spec).toEqual({ sizeInGb: 5 })
  expect((await read('v1')).body.spec).toEqual({ size: '5Gi' })
  const { body } = await lab.outside(patch(`${databasesPath}/orders`, { spec: { size: 'much' } }))
  expect(body['message']).toBe(
    'conversion webhook for example.com/v1, Kind=Database failed: Cannot convert Database "default/orders" ' +
      'from example.com/v1 to example.com/v2: "much" is no number of Gi',
  )
})

test('18: of two operators one stands back, and goes on when the other is gone', async () => {
  await run('18-peering', { identity: 'deployed' })
  await lab.untilLogged('Looking after')
  const path = '/apis/kopf.dev/v1/namespaces/default/kopfpeerings/default'
  const lastseen = new Date(lab.clock.now()).toISOString()
  await patch(path, { status: { other: { priority: 666, lifetime: 60, lastseen } } })
  await lab.untilLogged('Not looking after')
  await until(path, ({ status }) => status['other'] === undefined)
  const said = () => lab.logs.flatMap((line) => /Looking|Not looking|Pausing|Resuming/.exec(line)?.[0] ?? [])
  await lab.until(() => said().length === 5)
  expect(said()).toEqual(['Looking', 'Pausing', 'Not looking', 'Resuming', 'Looking'])
  expect(linesOf(example)).toContain(`Not looking after ${example} any more: operator-pausing`)
})

test('the definitions of the example are those of the package', async () => {
  const definitions = parseYaml(readFileSync('peering.yaml', 'utf8'))
  const shown = parseYaml(readFileSync(join('examples', '18-peering', 'object.yaml'), 'utf8'))
  expect(shown).toEqual(expect.arrayContaining(definitions))
})

test('19: a database becomes ready, and its tests pass', async () => {
  await run('19-testing')
  const { status } = await until(`${databasesPath}/orders`, ({ status }) => status?.['phase'] === 'Ready')
  expect(status).toMatchObject({ url: 'postgres://orders', checks: 1 })
  const flags = ['--import', 'tsx', '--conditions=source', '--test', '--test-reporter=spec']
  const { NODE_OPTIONS: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, 'examples/19-testing/operator.test.ts'], {
    env,
  })
  const readme = readFileSync('examples/19-testing/README.md', 'utf8')
  for (const [line] of readme.matchAll(/^✔ .*$/gm)) expect(stdout).toContain(line)
  expect(stdout).toMatch(/pass 4\n.*fail 0/)
})

test('22: what should be there is there, comes back, and goes when it should not', async () => {
  await run('22-reconcile')
  const path = (name: string) => `/api/v1/namespaces/default/${name}`
  const isThere = async (name: string) => (await lab.call('GET', path(name))).status === 200
  await until(`${examplesPath}/${example}`, ({ status }) => status?.['doors'] === 2)
  expect((await lab.call('GET', path(`configmaps/${example}-menu`))).body['data']).toEqual({ coffee: 'strong' })
  expect(linesOf(example)).toContain(`Applying Service "${example}-front", which is not there.`)
  await lab.call('DELETE', path(`services/${example}-back`))
  await lab.until(() => isThere(`services/${example}-back`))
  await patch(`${examplesPath}/${example}`, { spec: { doors: ['front'] } })
  await lab.until(async () => !(await isThere(`services/${example}-back`)))
  expect(await isThere(`services/${example}-front`)).toBe(true)
})

test('each example is short, has an object, says what one will see, and is run here', () => {
  const folders = readdirSync('examples').filter((name) => /^\d/.test(name) && name !== '00-embedded-server')
  const own = readFileSync(join('test', 'examples.test.ts'), 'utf8')
  for (const folder of folders) {
    expect(own).toContain(`run('${folder}'`)
    const read = (file: string) => readFileSync(join('examples', folder, file), 'utf8')
    expect(read('operator.ts').split('\n').length, folder).toBeLessThan(50)
    expect(read('object.yaml'), folder).toContain('metadata:')
    expect(read('README.md'), folder).toContain('What you will see')
  }
})

test('20: steps that are done are not done again', async () => {
  await run('20-steps')
  const { status, metadata } = await until(`${examplesPath}/${example}`, ({ status }) => status?.['backups'])
  expect(status).toEqual({ backups: { bucket: `${example}-backups`, attempts: 2 } })
  expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.includes('backups'))).toEqual([])
  expect(linesOf(example).filter((line) => /^(Making|Keeping|Scheduling)/.test(line))).toEqual([
    'Making a bucket',
    `Keeping what is in ${example}-backups for 7 days`,
    `Scheduling backups into ${example}-backups`,
  ])
})

test('21: conditions say how it is', async () => {
  await run('21-conditions')
  const conditionOf = ({ status }: Body) => status?.['conditions']?.[0]
  await until(`${examplesPath}/${example}`, (body) => conditionOf(body)?.status === 'True')
  await patch(`${examplesPath}/${example}`, { spec: { size: 11 } })
  const body = await until(`${examplesPath}/${example}`, (one) => conditionOf(one)?.status === 'False')
  expect(conditionOf(body)).toMatchObject({ reason: 'TooLarge', message: '11 do not fit', observedGeneration: 2 })
})
