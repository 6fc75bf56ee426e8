/** The operator crashes before and after each API call of reconcilers with steps, and another process continues. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { recordsOf } from '../support/handled.ts'
import { refusal } from '../support/recording.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab } = useReconcilingLab()

interface Process {
  isDead: boolean
}

/** The side effects of all steps, in order. */
class Story {
  readonly effects: string[] = []

  /** A crashed process has no side effects. */
  act(process: Process, effect: string): string {
    if (process.isDead) throw new Error('This process is dead')
    this.effects.push(effect)
    return `${effect}#${this.effects.filter((one) => one === effect).length}`
  }
}

/** Sequential and parallel steps, and steps of the deletion; each handling fails once in between. */
function createOperator(story: Story, process: Process): Operator {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [] } } })
  kopf.reconcile(
    lab.widgets,
    { id: 'fn', owns: ['configmaps'], cleanup: true },
    async ({ name, retry, step, deleting, patch }) => {
      if (deleting) {
        const x = await step('x', () => story.act(process, 'x'))
        if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
        await step('y', () => story.act(process, `y(${x})`))
        return undefined
      }
      // The next process does not repeat a finished handling.
      if (story.effects.some((effect) => effect.startsWith('c')) && (await isDone(name))) return undefined
      const a = await step('a', () => story.act(process, 'a'))
      const [b1, b2] = await Promise.all(['b1', 'b2'].map((id) => step(id, () => story.act(process, id))))
      if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
      await step('c', () => story.act(process, `c(${a},${b1},${b2})`))
      patch.status['done'] = 'yes'
      return { children: [configMap(`${name}-child`)] }
    },
  )
  return kopf
}

async function isDone(name: string): Promise<boolean> {
  const { status, body } = await lab.call('GET', lab.path(name))
  return status === 200 && body.status?.['done'] === 'yes' && Object.keys(recordsOf(body)).length === 0
}

/** The result of an API call: `refused` is not executed, `lost` loses the response, `dies` crashes the process. */
type Fate = 'done' | 'refused' | 'lost' | 'dies before' | 'dies after'

/** Runs one process whose API calls end as given. Resolves when `isFar` is true or the process has crashed. */
async function run(
  story: Story,
  name: string,
  { isFar, fateOf }: { readonly isFar: () => Promise<boolean>; readonly fateOf: (call: number) => Fate },
): Promise<number> {
  const process: Process = { isDead: false }
  const transport = lab.record()
  let calls = 0
  transport.meddle = async (request, send) => {
    if (process.isDead) throw new Error('This process is dead')
    if (!request.path.includes(`/${name}`)) return send()
    calls += 1
    const fate = fateOf(calls)
    if (fate === 'refused') return refusal(500)
    if (fate === 'dies before') process.isDead = true
    else if (fate !== 'done') await send()
    if (fate === 'dies after') process.isDead = true
    if (fate !== 'done') throw new Error('The answer is lost')
    return send()
  }
  const running = await lab.start(createOperator(story, process), { transport })
  await lab.until(async () => process.isDead || (await isFar()))
  process.isDead = true
  await lab.stop(running).catch(() => {})
  return calls
}

const order = ['a', 'b', 'c', 'x', 'y']

function checkStory({ effects }: Story): string[] {
  const wrong: string[] = []
  const letters = effects.map((effect) => effect[0]!)
  for (const [index, letter] of letters.entries()) {
    const later = letters.slice(index + 1).find((one) => order.indexOf(one) < order.indexOf(letter))
    if (later !== undefined) wrong.push(`${later} is done again after ${letter}`)
  }
  for (const letter of order) if (!letters.includes(letter)) wrong.push(`${letter} is never done`)
  // A later step gets the stored result of an earlier step, which is that of its last run.
  const times = (effect: string) => effects.filter((one) => one === effect).length
  const expected = [`c(a#${times('a')},b1#${times('b1')},b2#${times('b2')})`, `y(x#${times('x')})`]
  if (effects.some((effect) => /^[cy]/.test(effect) && !expected.includes(effect))) wrong.push('told of another past')
  return wrong.map((what) => `${what} (${effects.join(' ')})`)
}

/** Runs processes one after the other until the object is handled, and then until it is deleted. */
async function play(name: string, fateOf: (process: number, call: number) => Fate) {
  const story = new Story()
  await lab.create(name)
  let [calls, process] = [0, 0]
  const goOn = async (isFar: () => Promise<boolean>): Promise<void> => {
    for (; !(await isFar()); process += 1) {
      const number = process
      calls += await run(story, name, { isFar, fateOf: (call) => fateOf(number, call) })
    }
  }
  await goOn(() => isDone(name))
  await lab.delete(name)
  await goOn(async () => !(await lab.exists(name)))
  return { story, calls, wrong: checkStory(story) }
}

test('a reconciler step that has started never repeats the steps before it, whenever the operator crashes', async () => {
  const { story, wrong, calls } = await play('undisturbed', () => 'done')
  expect(wrong).toEqual([])
  expect(story.effects).toHaveLength(6)
  const broken: string[] = []
  for (let call = 1; call <= calls; call += 1) {
    for (const moment of ['before', 'after'] as const) {
      // The first process crashes, and also the process that handles the deletion.
      const death = (process: number, its: number): Fate => (process < 3 && its === call ? `dies ${moment}` : 'done')
      const { story, wrong } = await play(`dies-${moment}-${call}`, death)
      broken.push(...wrong.map((what) => `${moment} call ${call}: ${what}`))
      for (const effect of new Set(story.effects)) {
        const times = story.effects.filter((one) => one === effect).length
        if (times > 4) broken.push(`${moment} call ${call}: ${effect} is done ${times} times`)
      }
    }
  }
  expect(broken).toEqual([])
}, 120_000)

test('a reconciler step that has started never repeats the steps before it, with repeated crashes, refused calls and lost responses', async () => {
  const broken: string[] = []
  const fates: readonly Fate[] = ['refused', 'lost', 'dies before', 'dies after']
  for (let seed = 0; seed < (lab.isReal ? 3 : 25); seed += 1) {
    const random = new Random(`reconciler-steps-${seed}`)
    // From the seventh process on, all calls succeed, so that the run ends.
    const fateOf = (process: number): Fate => (process < 6 && random.chance(0.4) ? random.pick(fates) : 'done')
    const { wrong } = await play(`rough-${seed}`, fateOf)
    broken.push(...wrong.map((what) => `seed ${seed}: ${what}`))
  }
  expect(broken).toEqual([])
}, 120_000)
