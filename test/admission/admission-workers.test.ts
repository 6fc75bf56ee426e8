import { inWorker, Operator } from 'kopf'
import { afterEach, expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { useThreads } from '../support/threads.ts'
import { type Answer, Door, editsOf, widget } from './admission-support.ts'

const lab = useLab()
const threads = useThreads()
afterEach(async () => {
  await lab.stopAll()
  expect(threads.size).toBe(0)
})

async function askIn(name: string, request: object = {}): Promise<Answer['response']> {
  const kopf = new Operator()
  kopf.on.mutate(lab.widgets, inWorker(new URL('./workers/handlers.ts', import.meta.url), { name }))
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  return lab.outside(door.ask({ ...request }, { headers: { accept: '*/*' } }))
}

test('an admission handler in a worker gets the request, and its patch and warnings are returned', async () => {
  const oldObject = widget(lab, { spec: { size: 0 } })
  const answer = await askIn('look', { operation: 'UPDATE', oldObject, dryRun: true })
  expect(answer.allowed).toBe(true)
  expect(answer.warnings!.map((text) => JSON.parse(text))).toEqual([
    {
      operation: 'UPDATE',
      dryrun: true,
      userinfo: { username: 'admin', groups: ['system:authenticated'] },
      headers: { accept: '*/*' },
      old: oldObject,
      now: widget(lab),
      diff: [['change', ['spec', 'size'], 0, 1]],
    },
  ])
  expect(editsOf(answer)).toEqual([{ op: 'replace', path: '/spec/size', value: 2 }])
})

test('a refusal of an admission handler in a worker has its status, patch and warnings', async () => {
  const answer = await askIn('refuse')
  expect(answer).toMatchObject({
    allowed: false,
    status: { code: 422, message: 'not in this colour' },
    warnings: ['about to be refused'],
  })
  expect(editsOf(answer)).toEqual([{ op: 'add', path: '/spec/colour', value: 'red' }])
})

test('warnings of an admission handler in a worker that cannot be cloned are sent as text', async () => {
  const { allowed, warnings } = await askIn('warnOddly')
  expect(allowed).toBe(true)
  expect(warnings!.slice(1)).toEqual(['an error', '5'])
  expect(warnings).toHaveLength(3)
})
