/** Names that match several resources, from the start or after a change of the CRDs. */
import { Operator } from 'kopf'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { crd, crdsPath } from '../support/crds.ts'
import { useLab } from '../support/lab.ts'

const lab = useLab()
const { group } = lab
const elsewhere = `else-${group}`
const id = group.slice(1, 9)
const plural = `twins${id}`
const kind = `Twin${id}`
const phrase = 'Ambiguous resources will not be served (try specifying API groups)'

function warnings(): string[] {
  return lab.logs.filter((line) => line.includes(phrase))
}

async function define(inGroup: string): Promise<void> {
  await lab.call('POST', crdsPath, crd({ group: inGroup, kind, plural }))
  await lab.until(async () => (await lab.call('GET', `/apis/${inGroup}/v1/${plural}`)).status === 200)
  await lab.until(async () => (await lab.call('GET', `/apis/${inGroup}/v1`)).status === 200)
}

async function undefine(inGroup: string): Promise<void> {
  const path = `${crdsPath}/${plural}.${inGroup}`
  await lab.call('DELETE', path)
  await lab.until(async () => (await lab.call('GET', path)).status === 404)
}

async function create(inGroup: string, name: string): Promise<void> {
  const path = `/apis/${inGroup}/v1/namespaces/${lab.namespace}/${plural}`
  const body = { apiVersion: `${inGroup}/v1`, kind, metadata: { name } }
  await lab.until(async () => [201, 409].includes((await lab.call('POST', path, body)).status))
}

beforeAll(() => define(group))
afterAll(async () => {
  for (const each of [group, elsewhere]) await undefine(each)
})

test('a resource is still served when its name becomes ambiguous, with one warning that lists the candidates', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(plural, ({ name, resource }) => void seen.push(`${resource.group} ${name}`))
  await lab.start(kopf)
  await create(group, 'before')
  await lab.until(() => seen.includes(`${group} before`))
  await define(elsewhere)
  await lab.until(() => warnings().length > 0)
  expect(warnings()[0]).toContain(`${plural}.v1.${group}`)
  expect(warnings()[0]).toContain(`${plural}.v1.${elsewhere}`)
  await create(elsewhere, 'stranger')
  await create(group, 'after')
  await lab.until(() => seen.includes(`${group} after`))
  await lab.elapse(3)
  expect(seen).not.toContain(`${elsewhere} stranger`)
  expect(warnings()).toHaveLength(1)
})

test('a resource is served once its name is no longer ambiguous', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.event(plural, ({ name, resource }) => void seen.push(`${resource.group} ${name}`))
  await lab.start(kopf)
  await lab.until(() => warnings().length > 0)
  expect(seen).toEqual([])
  await undefine(elsewhere)
  await create(group, 'at-last')
  await lab.until(() => seen.includes(`${group} at-last`))
  expect(warnings()).toHaveLength(1)
  await define(elsewhere)
  await lab.until(() => warnings().length > 1)
})

test('the client refuses an ambiguous name and lists the candidates', async () => {
  const errors: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, async ({ client }) => {
    errors.push(await client.list(plural).then(String, String))
  })
  await lab.start(kopf)
  await lab.create('asking')
  await lab.until(() => errors.length > 0)
  expect(errors[0]).toContain('several match')
  expect(errors[0]).toContain(`${plural}.v1.${group}`)
  expect(errors[0]).toContain(`${plural}.v1.${elsewhere}`)
})
