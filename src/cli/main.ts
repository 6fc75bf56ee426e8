#!/usr/bin/env node
/** The program `kopf`. Without arguments, it prints its help and exits as after a usage error. */
import { executeProgram } from './execute.ts'
import { createProgram } from './program.ts'

const args = process.argv.slice(2)
const program = createProgram()
if (args.length > 0) await executeProgram(program, args)
else {
  program.outputHelp({ error: true })
  process.exitCode = 2
}
