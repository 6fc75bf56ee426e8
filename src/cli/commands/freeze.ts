/** `kopf freeze`: a record in a peering that no operator below its priority works beside, for as long as it lasts. */
import type { Command } from 'commander'
import { defaultMaxLifetime, toSignOfLife } from '../../kube/peerings.ts'
import { systemClock } from '../../util/clock.ts'
import { toMs } from '../../util/duration.ts'
import type { Variable } from '../environment.ts'
import { addEnvironment, addExamples } from '../help.ts'
import {
  addPeeringOptions,
  developerPriority,
  type PeeringArguments,
  peeringVariables,
  readInteger,
  readPeeringArguments,
  startPeeringLog,
  toIdentity,
  toTarget,
} from '../peering-options.ts'

interface FreezeArguments extends PeeringArguments {
  readonly dev?: boolean
  readonly priority: string
  readonly lifetime?: string
  readonly message?: string
}

const variables: readonly Variable[] = [
  { name: 'DEV', type: 'flag', option: 'dev' },
  { name: 'PRIORITY', type: 'text', option: 'priority' },
  { name: 'LIFETIME', type: 'text', option: 'lifetime' },
  { name: 'MESSAGE', type: 'text', option: 'message' },
]

export function addFreezeCommand(program: Command): void {
  const command = program
    .command('freeze')
    .summary('pause the operators of a peering')
    .description(
      'Pauses all operators of a peering that have a lower or the same priority, those of Kopf for Python included:\n' +
        'they watch nothing and handle nothing until the time is up, or until "kopf resume".',
    )
    .optionsGroup('Pause:')
    .option('-t, --lifetime <seconds>', 'for how long; required')
    .option('-p, --priority <number>', 'pause those up to this priority', '100')
    .option('--dev', `the same as --priority ${developerPriority}`)
    .option('-m, --message <text>', 'why; taken for the sake of scripts, and not written anywhere')
  addPeeringOptions(command).action(() => freeze(command))
  addExamples(command, [
    'kopf freeze --peering default --all-namespaces --lifetime 600',
    'kopf freeze -P example -n staging --dev --lifetime 60 --id nightly-backup',
  ])
  addEnvironment(command, [...peeringVariables, ...variables], { remarks: ['What is on the command line wins.'] })
}

async function freeze(command: Command): Promise<void> {
  const args = readPeeringArguments<FreezeArguments>(command, variables)
  if (args.lifetime === undefined) command.error("error: required option '-t, --lifetime <seconds>' not specified")
  const lifetime = readInteger(command, '-t, --lifetime <seconds>', args.lifetime!, 1)
  const asked = readInteger(command, '-p, --priority <number>', args.priority)
  const priority = args.dev ? developerPriority : asked
  const logger = startPeeringLog(args)
  if (lifetime * 1000 > toMs(defaultMaxLifetime)) {
    logger.warn(
      `Operators believe a record for ${defaultMaxLifetime} at most, unless settings.peering.maxLifetime of the operator says ` +
        'otherwise: repeat the command before that time is up',
    )
  }
  const identity = await toIdentity(args)
  // Only now: help and wrong usage need none of it.
  const { writeRecords } = await import('../peering-records.ts')
  const patch = toSignOfLife({ identity, priority, lifetime }, systemClock.now())
  const done = `operators up to priority ${priority} are paused by "${identity}" for ${lifetime} seconds`
  await writeRecords(toTarget(args), patch, { logger, done })
}
