/** Compares the recorded terminal session of the README with what the command prints now. */
import { readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { animateSession, readAnimation } from '../tools/docs/recording/animation.ts'
import { recordSession, typedCommand } from '../tools/docs/recording/session.ts'

test('the recorded terminal session shows what the command prints (npm run docs:record)', async () => {
  const lines = await recordSession([inject('command')])
  expect(lines).toContain('12:00:00 INFO  default/kopf-example-1  Creation is processed: 1 succeeded; 0 failed.')
  const recording = readFileSync('docs/diagrams/terminal.svg', 'utf8')
  expect(readAnimation(recording)).toEqual(lines)
  expect(recording).toBe(animateSession(typedCommand, lines))
})

test('the README shows the lines of the recorded terminal session', () => {
  const lines = readAnimation(readFileSync('docs/diagrams/terminal.svg', 'utf8'))
  const readme = readFileSync('README.md', 'utf8')
  expect(lines.filter((line) => line.includes(' INFO ') && !readme.includes(line))).toEqual([])
})
