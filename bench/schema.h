/* schema.h - checks a second of a typical tool's schema, beside Ajv */
#ifndef BENCH_SCHEMA_H
#define BENCH_SCHEMA_H

/* Prints a table. Ajv is run by node, if both are there. */
void bench_schema(void);

#endif
