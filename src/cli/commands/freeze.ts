/**
 * `kopf freeze`: writes a record into a peering, which pauses all operators up to its priority until it expires. `kopf resume`: removes
 * that record.
 */
import type { Command } from 'commander'
import { defaultMaxLifetime, toKeepAlivePatch, toRemovalPatch } from '../../kube/peerings.ts'
import { systemClock } from '../../util/async/clock.ts'
import { toMs } from '../../util/text/duration.ts'
import type { Variable } from '../environment.ts'
import { addEnvironment, addExamples } from '../help.ts'
import {
  addPeeringOptions,
  developerPriority,
  type PeeringArguments,
  peeringVariables,
  readInteger,
  readPeeringArguments,
  readSeconds,
  startPeeringLog,
  toIdentity,
  toTarget,
} from '../options/peering.ts'

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
      'Pauses all operators of a peering that have the same or a lower priority, including those of Kopf for Python. They ' +
        'watch and handle nothing until the lifetime has passed, or until "kopf resume".',
    )
    .optionsGroup('Pause:')
    .option('-t, --lifetime <duration>', 'how long to pause: seconds, or a duration such as 5m or 1h; required')
    .option('-p, --priority <number>', 'pause operators up to this priority', '100')
    .option('--dev', `the same as --priority ${developerPriority}`)
    .option('-m, --message <text>', 'the reason; accepted for compatibility with Kopf for Python, and not stored')
  addPeeringOptions(command).action(() => freeze(command))
  addExamples(command, [
    'npx kopf freeze --peering default --all-namespaces --lifetime 10m',
    'npx kopf freeze -P example -n staging --dev --lifetime 60 --id nightly',
  ])
  addEnvironment(command, [...peeringVariables, ...variables], {
    remarks: ['Options on the command line take precedence.'],
  })
}

async function freeze(command: Command): Promise<void> {
  const args = readPeeringArguments<FreezeArguments>(command, variables)
  if (args.lifetime === undefined) command.error("error: required option '-t, --lifetime <duration>' not specified")
  const lifetime = readSeconds(command, '-t, --lifetime <duration>', args.lifetime!)
  const given = readInteger(command, '-p, --priority <number>', args.priority)
  const priority = args.dev ? developerPriority : given
  const logger = startPeeringLog(args)
  if (lifetime * 1000 > toMs(defaultMaxLifetime)) {
    logger.warn(
      `Operators accept a lifetime of at most ${defaultMaxLifetime}, unless settings.peering.maxLifetime of the operator is longer: ` +
        'repeat the command before that time has passed',
    )
  }
  const identity = await toIdentity(args)
  // Imported late: help and usage errors do not need it.
  const { writeRecords } = await import('./freeze-records.ts')
  const patch = toKeepAlivePatch({ identity, priority, lifetime }, systemClock.now())
  const done = `operators up to priority ${priority} are paused by "${identity}" for ${lifetime} seconds`
  await writeRecords(toTarget(args), patch, { logger, done })
}

export function addResumeCommand(program: Command): void {
  const command = program
    .command('resume')
    .summary('end the pause of the operators of a peering')
    .description(
      'Ends the pause of "kopf freeze". Run it as the same user on the same machine, or with the same --id. The operator ' +
        'with the highest priority continues.',
    )
  addPeeringOptions(command).action(() => resume(command))
  addExamples(command, [
    'npx kopf resume --peering default --all-namespaces',
    'npx kopf resume --peering example --namespace staging --id nightly',
  ])
  addEnvironment(command, peeringVariables, { remarks: ['Options on the command line take precedence.'] })
}

async function resume(command: Command): Promise<void> {
  const args = readPeeringArguments(command)
  const logger = startPeeringLog(args)
  const identity = await toIdentity(args)
  // Imported late: help and usage errors do not need it.
  const { writeRecords } = await import('./freeze-records.ts')
  await writeRecords(toTarget(args), toRemovalPatch([identity]), {
    logger,
    done: `no operator is paused by "${identity}"`,
  })
}
