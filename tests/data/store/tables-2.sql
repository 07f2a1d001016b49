CREATE TABLE jobs (
	id TEXT NOT NULL,
	key_id TEXT,
	kind TEXT DEFAULT 'plan' NOT NULL,
	state TEXT NOT NULL,
	priority INTEGER NOT NULL,
	problem_hash TEXT NOT NULL,
	name TEXT,
	n_buffers INTEGER NOT NULL,
	options TEXT NOT NULL,
	time_limit_s DOUBLE NOT NULL,
	deadline_at DOUBLE,
	created_at DOUBLE NOT NULL,
	started_at DOUBLE,
	finished_at DOUBLE,
	attempts INTEGER NOT NULL,
	lapses INTEGER NOT NULL,
	failures INTEGER NOT NULL,
	is_cancel_asked BOOLEAN NOT NULL,
	idempotency_key TEXT,
	request_digest TEXT,
	lease_holder TEXT,
	lease_until DOUBLE,
	lease INTEGER NOT NULL,
	last_event INTEGER NOT NULL,
	progress TEXT,
	plan_status TEXT,
	plan_hash TEXT,
	error TEXT,
	late_s DOUBLE,
	PRIMARY KEY (id),
	UNIQUE (idempotency_key)
);
CREATE INDEX jobs_by_deadline ON jobs (state, deadline_at);
CREATE INDEX jobs_by_end ON jobs (finished_at);
CREATE INDEX jobs_by_holder ON jobs (lease_holder);
CREATE INDEX jobs_by_key ON jobs (key_id, id);
CREATE INDEX jobs_by_key_and_state ON jobs (key_id, state);
CREATE INDEX jobs_by_lease ON jobs (state, lease_until);
CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_plan ON jobs (plan_hash);
CREATE INDEX jobs_by_problem ON jobs (problem_hash);
CREATE INDEX jobs_in_turn ON jobs (state, priority, id);
CREATE TABLE keys (
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	hash TEXT NOT NULL,
	scopes TEXT NOT NULL,
	max_jobs INTEGER,
	max_requests_per_minute INTEGER,
	created_at DOUBLE NOT NULL,
	revoked_at DOUBLE,
	used_at DOUBLE,
	PRIMARY KEY (id),
	UNIQUE (name),
	UNIQUE (hash)
);
CREATE TABLE plans (
	hash TEXT NOT NULL,
	"plan" BLOB NOT NULL,
	status TEXT NOT NULL,
	searched_s DOUBLE NOT NULL,
	bytes INTEGER NOT NULL,
	updated_at DOUBLE NOT NULL,
	PRIMARY KEY (hash)
);
CREATE INDEX plans_by_age ON plans (updated_at, bytes);
CREATE TABLE versions (
	version INTEGER NOT NULL,
	PRIMARY KEY (version)
);
CREATE TABLE answers (
	job_id TEXT NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (job_id),
	FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE TABLE job_events (
	job_id TEXT NOT NULL,
	seq INTEGER NOT NULL,
	kind TEXT NOT NULL,
	at DOUBLE NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (job_id, seq),
	FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE TABLE submissions (
	job_id TEXT NOT NULL,
	head TEXT NOT NULL,
	body BLOB NOT NULL,
	PRIMARY KEY (job_id),
	FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
