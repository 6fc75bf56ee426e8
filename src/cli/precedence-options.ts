/** How an operator stands to others for the same objects: the options of `kopf run`, and of what prints how it is run. */
import type { Command } from 'commander'
import type { RunOptions } from '../operator.ts'
import { developerPriority, readInteger } from './peering-options.ts'

export interface PrecedenceArguments {
  readonly peering?: string
  readonly priority?: string
  readonly dev?: boolean
  readonly standalone?: boolean
}

export function addPrecedenceOptions(command: Command): Command {
  return command
    .optionsGroup('Other operators:')
    .option('-P, --peering <name>', 'work only while no operator of this peering has precedence, and not without it')
    .option('-p, --priority <number>', 'the precedence among the operators of a peering (default: 0)')
    .option('--standalone', 'take no notice of any peering and of other operators')
}

export function readPrecedence(
  command: Command,
  { peering, priority, dev, standalone }: PrecedenceArguments,
): Pick<RunOptions, 'peering' | 'priority' | 'standalone'> {
  const asked = priority === undefined ? undefined : readInteger(command, '-p, --priority <number>', priority)
  const chosen = dev ? developerPriority : asked
  return {
    ...(peering === undefined ? {} : { peering }),
    ...(chosen === undefined ? {} : { priority: chosen }),
    ...(standalone === undefined ? {} : { standalone }),
  }
}
