/** `kopf resume`: takes back what `kopf freeze` has put into a peering. */
import type { Command } from 'commander'
import { toRemoval } from '../../kube/peerings.ts'
import { addEnvironment, addExamples } from '../help.ts'
import {
  addPeeringOptions,
  peeringVariables,
  readPeeringArguments,
  startPeeringLog,
  toIdentity,
  toTarget,
} from '../peering-options.ts'

export function addResumeCommand(program: Command): void {
  const command = program
    .command('resume')
    .summary('end a pause of the operators of a peering')
    .description(
      'Ends the pause that "kopf freeze" has begun: by the same user on the same machine, or under the same --id.\n' +
        'The operator of the highest priority goes on.',
    )
  addPeeringOptions(command).action(() => resume(command))
  addExamples(command, [
    'kopf resume --peering default --all-namespaces',
    'kopf resume --peering example --namespace staging --id nightly-backup',
  ])
  addEnvironment(command, peeringVariables, { remarks: ['What is on the command line wins.'] })
}

async function resume(command: Command): Promise<void> {
  const args = readPeeringArguments(command)
  const logger = startPeeringLog(args)
  const identity = await toIdentity(args)
  // Only now: help and wrong usage need none of it.
  const { writeRecords } = await import('../peering-records.ts')
  await writeRecords(toTarget(args), toRemoval([identity]), { logger, done: `nobody is paused by "${identity}"` })
}
