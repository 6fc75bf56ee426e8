/** Deletes objects whose annotation says that their time is over. The environment configures it: see config.ts. */
import { createCleaner } from './cleaner.ts'
import { readConfig } from './config.ts'

export default createCleaner(readConfig(process.env))
