/** What the client of handlers knows of the cluster: it learns with the operator. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { Kind } from './support.ts'

const lab = useLab()

/** Calls the client whenever a widget is made, and says what comes of it. */
function asking(kind: Kind): { kopf: Operator; answers: string[] } {
  const kopf = new Operator()
  const answers: string[] = []
  kopf.on.create(lab.widgets, async ({ name, client }) => {
    const found = await client.list(kind.selector).then(
      (all) => all.map(({ metadata }) => metadata.name).join(),
      (error: { code: string }) => error.code,
    )
    answers.push(`${name}: ${found}`)
  })
  return { kopf, answers }
}

test('a kind that is made anew with another scope is found there', async () => {
  const kind = new Kind(lab, 'Quince')
  await kind.define()
  await kind.create('local')
  const { kopf, answers } = asking(kind)
  await lab.start(kopf)
  await lab.create('first')
  await lab.until(() => answers.includes('first: local'))
  await kind.remove()
  await kind.define({ scope: 'Cluster' })
  await kind.create('global', {}, { isGlobal: true })
  await lab.until(async () => {
    await lab.create(`ask-${answers.length}`).catch(() => {})
    return answers.some((answer) => answer.endsWith(': global'))
  })
  await lab.stopAll()
  await kind.remove()
})

test('a kind in a group that no handler is for is found, and asked about once', async () => {
  const { kopf, answers } = asking({ selector: ['apps', 'deployments'] } as unknown as Kind)
  const transport = lab.record()
  await lab.start(kopf, { transport })
  for (const name of ['again', 'and-again']) {
    await lab.create(name)
    await lab.until(() => answers.includes(`${name}: `))
  }
  expect(transport.requests.filter(({ path }) => path === '/apis')).toHaveLength(2)
})
