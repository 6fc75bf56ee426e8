/** The policy printed in docs/operate/untrusted-objects.md, on a real control plane: only the operator can write its annotations. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { parseYaml } from '../../src/util/yaml.ts'
import type { Answer, Tree } from '../support/answers.ts'
import { Api } from '../support/api.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { eventually, expectStatus } from '../support/expectations.ts'

const group = `g${randomBytes(4).toString('hex')}.example.com`
const objects = `/apis/${group}/v1/namespaces/default/databases`
const policies = '/apis/admissionregistration.k8s.io/v1'
const key = 'kopf.zalando.org/fn'
let api: Api
let author: Api
let operator: Api
const made: string[] = []

async function make(path: string, body: Tree): Promise<void> {
  const { metadata } = expectStatus(await api.post(path, body), 201)
  made.push(`${path}/${metadata.name}`)
}

beforeAll(async () => {
  const { url, caPem, admin } = inject('realCluster')
  api = new Api({ url, caPem, credentials: admin })
  const as = (user: string) => api.as({ ...admin, impersonated: { user, groups: ['system:masters'] } })
  author = as('alice')
  operator = as('system:serviceaccount:operators:databases')
  await make(crdsPath, crd({ group, kind: 'Database', subresources: { status: {} } }))
  const [yaml] = /(?<=^```yaml\n).*?(?=^```)/ms.exec(readFileSync('docs/operate/untrusted-objects.md', 'utf8'))!
  for (const object of parseYaml(yaml.replaceAll('[example.com]', `[${group}]`)) as Array<Tree & { kind: string }>) {
    const plural = object.kind.endsWith('Binding') ? 'validatingadmissionpolicybindings' : 'validatingadmissionpolicies'
    await make(`${policies}/${plural}`, object)
  }
  // Policies take effect with a delay.
  const forged = {
    apiVersion: `${group}/v1`,
    kind: 'Database',
    metadata: { name: 'trial', annotations: { [key]: '{}' } },
  }
  await eventually(async () => expectStatus(await author.post(`${objects}?dryRun=All`, forged), 422), 20_000)
})

afterAll(async () => {
  for (const path of made.reverse()) await api.delete(path)
  for (const one of [author, operator, api]) one.close()
})

const annotate = (who: Api, annotations: Tree, spec: Tree = {}): Promise<Answer> =>
  who.mergePatch(`${objects}/orders`, { metadata: { annotations }, spec })

test('the documented policy lets authors write objects, except for the annotations of the operator', async () => {
  const body = { apiVersion: `${group}/v1`, kind: 'Database', metadata: { name: 'orders' }, spec: { size: 1 } }
  expectStatus(await author.post(objects, body), 201)
  expectStatus(await annotate(author, { mine: 'yes' }), 200)
  expect((await annotate(author, { [key]: 'forged' })).text).toContain('for the operator alone')
  expectStatus(await annotate(operator, { [key]: '{}' }), 200)
  expectStatus(await annotate(author, { mine: 'still' }, { size: 2 }), 200)
  for (const value of ['{"success":true}', null]) expectStatus(await annotate(author, { [key]: value }), 422)
  expectStatus(await annotate(operator, { [key]: null }), 200)
  expectStatus(await author.delete(`${objects}/orders`), 200)
})
