/** `kopf dev` runs the operator in a process of its own: a crash, an endless loop or an exit costs one reload. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  countOf,
  dev,
  devFolder,
  operatorOf,
  stop,
  telling,
  useDevFolder,
  widget,
  wordOf,
  write,
} from './dev-support.ts'
import { KopfCommand } from './run-support.ts'

useDevFolder()

describe('crashes in kopf dev', { timeout: 60_000 }, () => {
  /** Expects that the server, its objects and the command have survived: the next save is handled. */
  async function expectToGoOn(one: KopfCommand): Promise<void> {
    devFolder().write({ 'operator.ts': operatorOf(telling) })
    // The object is the old one: its creation was not finished and is handled now, or the object is resumed.
    await one.until(/(create|resume): first one/)
    expect(countOf(one, /created widgets\.example\.com\/first/g)).toBe(1)
    await stop(one)
  }

  test.each([
    [
      'a rejected promise without a handler',
      "Promise.reject(new Error('boom'))",
      /\[default\/first\] Handler 'bad' left behind a promise that was rejected: boom/,
    ],
    [
      'an error in a timer',
      "setTimeout(() => { throw new Error('boom') }, 10)",
      /\[default\/first\] Handler 'bad' left behind code that threw an error: boom/,
    ],
    [
      'process.exit in a handler',
      'process.exit(3)',
      /kopf dev: The process of the operator has ended by itself, with exit code 3\./,
    ],
  ])('kopf dev survives %s', async (_, statement, message) => {
    write({ 'operator.ts': operatorOf(`kopf.on.create(Widget, { id: 'bad' }, () => { ${statement}; void word })`) })
    const one = await dev().until(message)
    await one.until(/^No operator runs until you correct the error and save\.$/m)
    await expectToGoOn(one)
  })

  test('kopf dev shows the source lines of a stray error', async () => {
    write({
      'operator.ts': operatorOf("kopf.on.create(Widget, () => {\n  void Promise.reject(new Error('boom ' + word))\n})"),
    })
    const one = await dev().until(
      /The operator has stopped because of the error above:\noperator\.ts:6:23\n(.*\n){2}> 6 \| {3}void Promise\.reject\(new Error\('boom ' \+ word\)\)\n {4}\| {23}\^\n/,
    )
    await expectToGoOn(one)
  })

  test('kopf dev survives an operator that fills its memory', async () => {
    const filling = 'const kept = []; for (;;) kept.push(new Array(100_000).fill({ word }))'
    write({ 'operator.ts': operatorOf(`kopf.on.create(Widget, { id: 'bad' }, () => { ${filling} })`) })
    const args = ['dev', 'operator.ts', '--apply', 'objects.yaml']
    const one = new KopfCommand(devFolder(), args, { NODE_OPTIONS: '--max-old-space-size=96' })
    await one.until(/The process of the operator was aborted\. Node does so when its memory is full/)
    await expectToGoOn(one)
  })

  const looping = "kopf.on.create(Widget, { id: 'bad' }, () => { console.log('begun', word); for (;;); })"

  test('kopf dev names a handler with an endless loop, and the next save ends it', async () => {
    write({ 'operator.ts': operatorOf(looping) })
    const one = await dev().until(/\[default\/first\] Handler 'bad' blocks the event loop at .*operator\.ts:5/)
    devFolder().write({ 'objects.yaml': `${widget(1)}\n---\n${widget(1).replace('first', 'second')}` })
    await one.until(/created widgets\.example\.com\/second/)
    await expectToGoOn(one)
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('kopf dev ends on %s while a handler loops forever', async (signal) => {
    write({ 'operator.ts': operatorOf(looping) })
    const one = await dev().until(/begun one/)
    one.send(signal)
    expect(await one.exit).toBe(0)
    await stop(one)
  })

  test('kopf dev abandons a file with an endless loop at its top level on the next save', async () => {
    write({ 'word.ts': "export const word: string = 'x'\nconsole.log('loading')\nfor (;;);\n" })
    const one = await dev().until(/^loading$/m)
    devFolder().write({ 'word.ts': wordOf('one') })
    await one.until(/create: first one/)
    await stop(one)
  })

  test('kopf dev takes the process of a looping operator with it, even if it is killed', async () => {
    write({ 'operator.ts': operatorOf(looping.replace("'begun', word", "'process', process.pid, word")) })
    const one = await dev().until(/process \d+ one/)
    const pid = Number(/process (\d+) one/.exec(one.stdout)![1])
    one.send('SIGKILL')
    await one.exit
    await expect.poll(() => isThere(pid), { timeout: 10_000 }).toBe(false)
  })

  test.runIf(existsSync('/proc/self/environ'))(
    'kopf dev passes no credentials in the arguments or the environment of the operator process',
    async () => {
      const telling = "kopf.on.create(Widget, () => { console.log('process', process.pid, word) })"
      write({ 'operator.ts': operatorOf(telling) })
      const one = await dev().until(/process \d+ one/)
      const pid = Number(/process (\d+) one/.exec(one.stdout)![1])
      const path = /export KUBECONFIG=(\S+)/.exec(one.stdout)![1]!
      const { token } = JSON.parse(readFileSync(path, 'utf8')).users[0].user
      expect(token).toMatch(/\S{20}/)
      for (const name of ['cmdline', 'environ'])
        expect(readFileSync(`/proc/${pid}/${name}`, 'utf8')).not.toContain(token)
      await stop(one)
    },
  )
})

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
