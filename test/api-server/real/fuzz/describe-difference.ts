/** Prints a difference between two servers: the commands, the differing paths, and both answers. */
import type { Tree } from '../../../support/answers.ts'
import { type Command, describeCommand } from './commands.ts'
import type { Difference } from './compare-servers.ts'

export function describeDifference(commands: readonly Command[], difference: Difference): string {
  const steps = commands
    .slice(0, difference.step + 1)
    .map((command, index) => `  ${index + 1}. ${describeCommand(command)}`)
  return [
    'The servers differ after:',
    ...steps,
    `In ${difference.what}:`,
    ...differingPaths(difference.real, difference.embedded).map((line) => `  ${line}`),
    `Real:     ${JSON.stringify(difference.real)}`,
    `Embedded: ${JSON.stringify(difference.embedded)}`,
    `To keep:  ${JSON.stringify(commands.slice(0, difference.step + 1))}`,
  ].join('\n')
}

function differingPaths(real: unknown, embedded: unknown, path = ''): string[] {
  if (JSON.stringify(real) === JSON.stringify(embedded)) return []
  if (!isBranch(real) || !isBranch(embedded)) {
    return [`${path || '.'}: real ${JSON.stringify(real)}, embedded ${JSON.stringify(embedded)}`]
  }
  const keys = [...new Set([...Object.keys(real), ...Object.keys(embedded)])]
  return keys.flatMap((key) => differingPaths(real[key], embedded[key], `${path}.${key}`))
}

function isBranch(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null
}
