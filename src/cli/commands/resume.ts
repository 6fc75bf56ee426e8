/** `kopf resume`: takes back what `kopf freeze` has put into a peering. */
import type { Command } from 'commander'
import { toRemoval } from '../../kube/peerings.ts'
import { addPeeringOptions, readPeeringArguments, startPeeringLog, toIdentity, toTarget } from '../peering-options.ts'

export function addResumeCommand(program: Command): void {
  const command = program
    .command('resume')
    .summary('end a pause of the operators of a peering')
    .description(
      'Ends the pause that "kopf freeze" has begun: by the same user on the same machine, or under the same --id.\n' +
        'The operator of the highest priority goes on.',
    )
  addPeeringOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  $ kopf resume --peering default --all-namespaces' +
        '\n  $ kopf resume --peering example --namespace staging --id nightly-backup' +
        '\n\nIn the environment: KOPF_RESUME_PEERING, KOPF_RESUME_NAMESPACES (with spaces between) and so on.',
    )
    .action(() => resume(command))
}

async function resume(command: Command): Promise<void> {
  const args = readPeeringArguments(command)
  const logger = startPeeringLog(command, args)
  const identity = await toIdentity(args)
  // Only now: help and wrong usage need none of it.
  const { writeRecords } = await import('../peering-records.ts')
  await writeRecords(toTarget(args), toRemoval([identity]), { logger, done: `nobody is paused by "${identity}"` })
}
