/** Discovery by the client of handlers, which shares the knowledge of the operator. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { Kind } from './discovery-support.ts'

const lab = useLab()

/** Lists the objects of the kind whenever a widget is created, and records the result. */
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

test('the client finds a resource in its new scope after its CRD was replaced', async () => {
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

test('the client discovers a group without handlers once', async () => {
  const { kopf, answers } = asking({ selector: ['apps', 'deployments'] } as unknown as Kind)
  const transport = lab.record()
  await lab.start(kopf, { transport })
  for (const name of ['again', 'and-again']) {
    await lab.create(name)
    await lab.until(() => answers.includes(`${name}: `))
  }
  expect(transport.requests.filter(({ path }) => path === '/apis')).toHaveLength(2)
})
