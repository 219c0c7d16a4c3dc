--
-- PostgreSQL database dump
--


-- Dumped from database version 18.6
-- Dumped by pg_dump version 18.6

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: folded_name(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.folded_name(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN "left"(lower((name COLLATE "C")), 200);


--
-- Name: note_changed_revisions(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.note_changed_revisions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM note_writes(ARRAY(SELECT DISTINCT c.tenant FROM changed c));
    RETURN NULL;
END
$$;


--
-- Name: note_writes(text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.note_writes(changed text[]) RETURNS void
    LANGUAGE sql
    AS $$
WITH named AS (
    SELECT DISTINCT c.tenant FROM unnest(changed) AS c(tenant)
), free AS (
    SELECT one.tenant, one.slot
    FROM named n
    CROSS JOIN LATERAL (
        SELECT w.tenant, w.slot FROM tenant_writes w WHERE w.tenant = n.tenant
        ORDER BY w.slot LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS one
), counted AS (
    UPDATE tenant_writes w SET writes = w.writes + 1
    FROM free WHERE w.tenant = free.tenant AND w.slot = free.slot
    RETURNING w.tenant
)
INSERT INTO tenant_writes (tenant, writes)
SELECT n.tenant, 1 FROM named n
WHERE NOT EXISTS (SELECT FROM counted c WHERE c.tenant = n.tenant)
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    key_id text NOT NULL COLLATE pg_catalog."C",
    secret_sha256 text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C",
    agent text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_role_check CHECK ((role = ANY (ARRAY['read'::text, 'write'::text, 'admin'::text])))
);


--
-- Name: chunks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.chunks (
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    revision_id text NOT NULL COLLATE pg_catalog."C",
    ordinal integer NOT NULL,
    start_at integer NOT NULL,
    end_at integer NOT NULL,
    text text NOT NULL COLLATE pg_catalog."C",
    context text NOT NULL COLLATE pg_catalog."C",
    heading_path text[] NOT NULL COLLATE pg_catalog."C",
    token_count integer NOT NULL,
    page integer,
    vector_key text NOT NULL COLLATE pg_catalog."C",
    row_version bigint NOT NULL,
    bands bigint[]
)
WITH (fillfactor='90');


--
-- Name: documents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.documents (
    document_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C"
);


--
-- Name: embeddings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.embeddings (
    vector_key text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    vector bytea NOT NULL,
    tokens bytea
);
ALTER TABLE ONLY public.embeddings ALTER COLUMN vector SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.embeddings ALTER COLUMN tokens SET STORAGE EXTERNAL;


--
-- Name: forget_jobs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.forget_jobs (
    job_id text NOT NULL COLLATE pg_catalog."C",
    receipt_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    selector text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    counts jsonb NOT NULL,
    waits_for text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    asked_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    lifted_at timestamp with time zone,
    asked_by text COLLATE pg_catalog."C",
    CONSTRAINT forget_jobs_state_check CHECK ((state = ANY (ARRAY['draining'::text, 'scanning'::text, 'finished'::text])))
);


--
-- Name: forget_key; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.forget_key (
    only_one boolean DEFAULT true NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT forget_key_only_one_check CHECK (only_one)
);


--
-- Name: forget_work; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.forget_work (
    job_id text NOT NULL COLLATE pg_catalog."C",
    part integer NOT NULL,
    sealed bytea NOT NULL
);


--
-- Name: generations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.generations (
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    dim integer NOT NULL,
    recipe jsonb NOT NULL,
    active boolean NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    activated_at timestamp with time zone,
    retire_at timestamp with time zone,
    ended_at timestamp with time zone,
    progress jsonb,
    state text GENERATED ALWAYS AS (
CASE
    WHEN active THEN 'active'::text
    WHEN (ended_at IS NOT NULL) THEN 'gone'::text
    WHEN (retire_at IS NOT NULL) THEN 'grace'::text
    ELSE 'building'::text
END) STORED NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: lineage; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.lineage (
    revision_id text NOT NULL COLLATE pg_catalog."C",
    document_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    support text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: outbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outbox (
    entry_id bigint NOT NULL,
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    revision_id text COLLATE pg_catalog."C",
    version bigint NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    tried_version bigint,
    attempts integer DEFAULT 0 NOT NULL,
    last_error text COLLATE pg_catalog."C",
    not_before timestamp with time zone,
    set_aside_at timestamp with time zone,
    CONSTRAINT outbox_operation_check CHECK ((operation = ANY (ARRAY['upsert'::text, 'delete'::text])))
);


--
-- Name: outbox_entry_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.outbox ALTER COLUMN entry_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_entry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: outbox_of_generation; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outbox_of_generation (
    entry_id bigint DEFAULT nextval((pg_get_serial_sequence('outbox'::text, 'entry_id'::text))::regclass) NOT NULL,
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    target text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tried_version bigint,
    attempts integer DEFAULT 0 NOT NULL,
    last_error text COLLATE pg_catalog."C",
    not_before timestamp with time zone,
    set_aside_at timestamp with time zone
);


--
-- Name: put_orders; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.put_orders
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: rebuilds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.rebuilds (
    rebuild_id bigint NOT NULL,
    refills text[] NOT NULL COLLATE pg_catalog."C",
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    owed_to text NOT NULL COLLATE pg_catalog."C",
    owed bigint NOT NULL,
    total bigint NOT NULL
);


--
-- Name: rebuilds_rebuild_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.rebuilds ALTER COLUMN rebuild_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.rebuilds_rebuild_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: receipts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.receipts (
    receipt_id text NOT NULL COLLATE pg_catalog."C",
    job_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    signed_at timestamp with time zone NOT NULL
);


--
-- Name: reconciliations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reconciliations (
    reconciliation_id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    report jsonb NOT NULL
);


--
-- Name: reconciliations_reconciliation_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.reconciliations ALTER COLUMN reconciliation_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.reconciliations_reconciliation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: revisions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.revisions (
    revision_id text NOT NULL COLLATE pg_catalog."C",
    document_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C",
    agent text COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    edition text NOT NULL COLLATE pg_catalog."C",
    edition_key text NOT NULL COLLATE pg_catalog."C",
    origin text NOT NULL COLLATE pg_catalog."C",
    item_digest text NOT NULL COLLATE pg_catalog."C",
    media_type text NOT NULL COLLATE pg_catalog."C",
    content_sha256 text NOT NULL COLLATE pg_catalog."C",
    text text NOT NULL COLLATE pg_catalog."C",
    text_sha256 text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL COLLATE pg_catalog."C",
    author text COLLATE pg_catalog."C",
    language text NOT NULL COLLATE pg_catalog."C",
    source_type text NOT NULL COLLATE pg_catalog."C",
    source_url text COLLATE pg_catalog."C",
    published_at timestamp with time zone,
    updated_at timestamp with time zone,
    product text COLLATE pg_catalog."C",
    product_version text COLLATE pg_catalog."C",
    api_version text COLLATE pg_catalog."C",
    authority double precision NOT NULL,
    license text COLLATE pg_catalog."C",
    quote_policy text NOT NULL COLLATE pg_catalog."C",
    tags text[] NOT NULL COLLATE pg_catalog."C",
    provenance jsonb NOT NULL,
    conversation text COLLATE pg_catalog."C",
    session text COLLATE pg_catalog."C",
    turn_ordinal integer,
    speaker text COLLATE pg_catalog."C",
    said_at timestamp with time zone,
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    run_id text NOT NULL COLLATE pg_catalog."C",
    chunk_count integer NOT NULL,
    first_chunk_id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    newest_edition boolean NOT NULL,
    put_order bigint NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    moment timestamp with time zone GENERATED ALWAYS AS (COALESCE(said_at, updated_at, published_at)) STORED,
    CONSTRAINT revisions_chunk_count_check CHECK ((chunk_count > 0)),
    CONSTRAINT revisions_kind_check CHECK ((kind = ANY (ARRAY['document'::text, 'turn'::text]))),
    CONSTRAINT revisions_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'visible'::text, 'superseded'::text, 'deleted'::text])))
);
ALTER TABLE ONLY public.revisions ALTER COLUMN text SET STORAGE EXTERNAL;


--
-- Name: row_versions; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.row_versions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: run_problems; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.run_problems (
    problem_id bigint NOT NULL,
    run_id text NOT NULL COLLATE pg_catalog."C",
    item_key text NOT NULL COLLATE pg_catalog."C",
    origin text NOT NULL COLLATE pg_catalog."C",
    stage text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT run_problems_outcome_check CHECK ((outcome = ANY (ARRAY['skipped'::text, 'failed'::text])))
);


--
-- Name: run_problems_problem_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.run_problems ALTER COLUMN problem_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.run_problems_problem_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.runs (
    run_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    arguments jsonb NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    counts jsonb NOT NULL,
    error text COLLATE pg_catalog."C",
    CONSTRAINT runs_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'interrupted'::text])))
);


--
-- Name: schema_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: tenant_writes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tenant_writes (
    tenant text NOT NULL COLLATE pg_catalog."C",
    slot bigint NOT NULL,
    writes bigint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: tenant_writes_slot_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.tenant_writes ALTER COLUMN slot ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tenant_writes_slot_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: tombstones; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tombstones (
    mark text NOT NULL COLLATE pg_catalog."C",
    receipt_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    buried_at timestamp with time zone NOT NULL,
    before timestamp with time zone
);


--
-- Name: uploads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.uploads (
    upload_id bigint NOT NULL,
    run_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    media_type text COLLATE pg_catalog."C",
    content bytea NOT NULL,
    arguments jsonb NOT NULL
);


--
-- Name: uploads_upload_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.uploads ALTER COLUMN upload_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.uploads_upload_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: usage_counts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_counts (
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    document_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    shown bigint NOT NULL
)
WITH (fillfactor='80');


--
-- Name: usage_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_events (
    event_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C",
    search_id text NOT NULL COLLATE pg_catalog."C",
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    document_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    artifact text NOT NULL COLLATE pg_catalog."C",
    reported_at timestamp with time zone NOT NULL,
    CONSTRAINT usage_events_kind_check CHECK ((kind = ANY (ARRAY['used'::text, 'useful'::text, 'wrong'::text, 'outdated'::text])))
);


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_keys VALUES ('key-1', '1111111111111111111111111111111111111111111111111111111111111111', 'harbour', 'write', '值班', 'pilot', NULL, '2026-05-01 12:00:00+00', NULL);
INSERT INTO public.api_keys VALUES ('key-2', '2222222222222222222222222222222222222222222222222222222222222222', 'harbour', 'read', 'old', NULL, NULL, '2026-05-01 12:00:00+00', '2026-05-02 00:00:00+00');


--
-- Data for Name: chunks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.chunks VALUES ('chk_2qrs2ormbzk7utyvoqs4j4dieq', 'rev_kartlu2s4bovvyeyadbpkietpu', 0, 0, 28, 'Unpack the archive. Then sta', '', '{}', 28, NULL, 'ac625443eae615c30be1de3b1b22b8ad0ba7f02879b18397c9f8ba8fe382a623', 2, NULL);
INSERT INTO public.chunks VALUES ('chk_a32rckf6xmq5wjoqqytsgn6ray', 'rev_24thhlmwkgbdvbv5e3lrpqli44', 0, 0, 12, '解压安装包，然后在 87', '', '{}', 12, NULL, 'f45e0af9cf34c5d565350b726b98aa2095aa7150f611c251a7d04ec6192ea787', 3, NULL);
INSERT INTO public.chunks VALUES ('chk_bjmnbqamvjg2bzixo2smvjgtce', 'rev_czeej7equssxubqhrfxjxl7g2i', 0, 0, 41, 'Which port does the service use? 服务用哪个端口？', '', '{}', 41, NULL, '3009bc9e053d790d944ee7362c697c473573c2841c63b9d979b78aae0fde492a', 6, NULL);
INSERT INTO public.chunks VALUES ('chk_ezco5ndzwufyoqruvihe6ce4y4', 'rev_apfavhkq6r2loxkmxez4otesxa', 0, 0, 28, 'Unpack the archive. Then sta', '', '{}', 28, NULL, 'ac625443eae615c30be1de3b1b22b8ad0ba7f02879b18397c9f8ba8fe382a623', 7, NULL);
INSERT INTO public.chunks VALUES ('chk_lbf4cqxyxivws6hq2ql22byt7u', 'rev_24thhlmwkgbdvbv5e3lrpqli44', 1, 12, 23, '30 端口启动服务。🙂', 'Guide > Start', '{Guide,Start}', 11, NULL, '7cd76b0dcf11f4a83305ecf0fa9359b5bc7fe8f1d866bcb9f1178959c1c85cd8', 8, NULL);
INSERT INTO public.chunks VALUES ('chk_mzphchf65rgqhit5nhjbms7pny', 'rev_apfavhkq6r2loxkmxez4otesxa', 1, 28, 56, 'rt the service on port 8730.', 'Guide > Start', '{Guide,Start}', 28, NULL, '1be783d362f0b069410611c0d6bb26b0bf079ebd7078692748c40ee1ee61361c', 10, NULL);
INSERT INTO public.chunks VALUES ('chk_zsfixbvw4yivdxopmrjybiyryy', 'rev_kartlu2s4bovvyeyadbpkietpu', 1, 28, 56, 'rt the service on port 8730.', 'Guide > Start', '{Guide,Start}', 28, NULL, '1be783d362f0b069410611c0d6bb26b0bf079ebd7078692748c40ee1ee61361c', 11, NULL);
INSERT INTO public.chunks VALUES ('chk_2fr7m24nnme2qwl6wkwrke74um', 'rev_4dp74clbi4o3b7tm3aztdxbsau', 0, 0, 30, 'Run one command. It unpacks, s', '', '{}', 30, NULL, '3e0ea8eb4a349603866057591caa59e044f4b2bfef16ef1b6c102b2c1743c749', 12, NULL);
INSERT INTO public.chunks VALUES ('chk_fsiwsueflurylyzxcrehdvmbou', 'rev_4dp74clbi4o3b7tm3aztdxbsau', 1, 30, 59, 'tarts and checks the service.', 'Guide > Start', '{Guide,Start}', 29, NULL, '487021bc3805d3396bbbb0e06fae85bf44d207ba4c16a4d46eed87bb663adf38', 13, NULL);
INSERT INTO public.chunks VALUES ('chk_26br6bndfifc427uzxuq3xmfgy', 'rev_w547dbatjglib7yv35yaan4zki', 0, 0, 26, 'Run two commands. The seco', '', '{}', 26, NULL, '87dc60ed5c7016b020fda57c3fce399d37c45206543cecade858af6108130482', 14, NULL);
INSERT INTO public.chunks VALUES ('chk_b4hcucehrqxyxfbmtjhaeucfsm', 'rev_w547dbatjglib7yv35yaan4zki', 1, 26, 52, 'nd one checks the service.', 'Guide > Start', '{Guide,Start}', 26, NULL, 'c3463d0281349454f1a422c56e8361329118f66d95600fc1adb636288dcd4aa7', 15, NULL);
INSERT INTO public.chunks VALUES ('chk_eccz3z7i32gfymzs7cg6ts65ke', 'rev_rl2w2bmaacrv2a44bleqkjbiom', 0, 0, 10, 'Not yet sh', '', '{}', 10, NULL, 'd391771f46bff5f32609fb20baed94547b527ba69f31d2b7857508cacbc49665', 16, NULL);
INSERT INTO public.chunks VALUES ('chk_xrm4hy6orpwv4jyr2fqisaflay', 'rev_rl2w2bmaacrv2a44bleqkjbiom', 1, 10, 20, 'own. 尚未发布。', 'Guide > Start', '{Guide,Start}', 10, NULL, '8199114f50103929b345e510cfe42a98c6a68ad3081e3ee300d33857a1684870', 17, NULL);


--
-- Data for Name: documents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.documents VALUES ('doc_3v67obtt56suf7m7u6c3fqueda', 'harbour', NULL);
INSERT INTO public.documents VALUES ('doc_cr43kjj6rlsfjzroahmnvf2zki', 'harbour', 'pilot');
INSERT INTO public.documents VALUES ('doc_ffq6u4k2ip2kkbmen76rp2ipdq', 'harbour', NULL);
INSERT INTO public.documents VALUES ('doc_ugzguc2sstzptwgzuy4ubikv2a', 'hangar', NULL);
INSERT INTO public.documents VALUES ('doc_zkml7fps3t7ez2mrq2rtnik7ge', 'harbour', NULL);
INSERT INTO public.documents VALUES ('doc_huezjljvpous3lscuvfqculoj4', 'harbour', NULL);


--
-- Data for Name: embeddings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.embeddings VALUES ('1be783d362f0b069410611c0d6bb26b0bf079ebd7078692748c40ee1ee61361c', 'test-encoder', '\xb636b93e7f67f83e8864bb3e29c4b33e3bb51a3e21d00f3e687ef93edf109f3e', NULL);
INSERT INTO public.embeddings VALUES ('3009bc9e053d790d944ee7362c697c473573c2841c63b9d979b78aae0fde492a', 'test-encoder', '\x1c96cd3eced69c3ee4c7623ea78ef03ef358c93e069adf3e4df9b03eb0b4cf3d', NULL);
INSERT INTO public.embeddings VALUES ('87dc60ed5c7016b020fda57c3fce399d37c45206543cecade858af6108130482', 'test-encoder', '\x2671fc3e7bfeba3ec8f9ef3e71d1803d0d0bd73eb1d6363e0158c43eff14583e', NULL);
INSERT INTO public.embeddings VALUES ('ac625443eae615c30be1de3b1b22b8ad0ba7f02879b18397c9f8ba8fe382a623', 'test-encoder', '\xf0e2e03e7800033f4b58e63e1e38b53ee111e33de1f3bd3ed240653e5a5e073e', NULL);
INSERT INTO public.embeddings VALUES ('c3463d0281349454f1a422c56e8361329118f66d95600fc1adb636288dcd4aa7', 'test-encoder', '\xd6a93f3e39afb33efeb91b3dc3c4033fd127c43e4db7213f119f573d9bb4273e', NULL);
INSERT INTO public.embeddings VALUES ('3e0ea8eb4a349603866057591caa59e044f4b2bfef16ef1b6c102b2c1743c749', 'test-encoder', '\x8fab2e3f7083d73ed1c0343ed97cff3efd9b493ed1c0343e44a8c23c5fd9a63d', NULL);
INSERT INTO public.embeddings VALUES ('487021bc3805d3396bbbb0e06fae85bf44d207ba4c16a4d46eed87bb663adf38', 'test-encoder', '\xab5cbe3eba42b83e01c1993e2c46f53e2b73073fe4d9673e3a3e433de4fd8f3e', NULL);
INSERT INTO public.embeddings VALUES ('8199114f50103929b345e510cfe42a98c6a68ad3081e3ee300d33857a1684870', 'test-encoder', '\xda500a3f6748833cd470c83e0e129d3e7494c23eda500a3e9bcff33cee7c0b3f', NULL);
INSERT INTO public.embeddings VALUES ('d391771f46bff5f32609fb20baed94547b527ba69f31d2b7857508cacbc49665', 'test-encoder', '\xc15fab3ec8eaf03e28bac13db8d17f3e00dfd13ef66eee3d2211b43e26d8093f', NULL);
INSERT INTO public.embeddings VALUES ('7cd76b0dcf11f4a83305ecf0fa9359b5bc7fe8f1d866bcb9f1178959c1c85cd8', 'test-encoder', '\x009b263ce0a91f3e208cad3d8c26303fc0b8183d009ba63d1829023fa8b3f43e', '\x0100ff207061636b6564205c20746f6b656e20766563746f7273');
INSERT INTO public.embeddings VALUES ('f45e0af9cf34c5d565350b726b98aa2095aa7150f611c251a7d04ec6192ea787', 'test-encoder', '\x7e69813d6535ae3da345d73ec3469f3bb128f03e24eaee3e8c4c1a3f1507d63d', '\x0100ff207061636b6564205c20746f6b656e20766563746f7273');


--
-- Data for Name: forget_jobs; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: forget_key; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: forget_work; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: generations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.generations VALUES ('test-encoder', 8, '{"model": "test", "centred": "no"}', true, '2026-11-30 19:35:00.957915+00', NULL, NULL, NULL, NULL, DEFAULT);


--
-- Data for Name: lineage; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (6, 'chk_bjmnbqamvjg2bzixo2smvjgtce', 'rev_czeej7equssxubqhrfxjxl7g2i', 6, 'upsert', '2026-11-30 19:35:01.123228+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (8, 'chk_lbf4cqxyxivws6hq2ql22byt7u', 'rev_24thhlmwkgbdvbv5e3lrpqli44', 8, 'upsert', '2026-11-30 19:35:01.123236+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (11, 'chk_zsfixbvw4yivdxopmrjybiyryy', 'rev_kartlu2s4bovvyeyadbpkietpu', 11, 'upsert', '2026-11-30 19:35:01.123249+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (12, 'chk_2fr7m24nnme2qwl6wkwrke74um', 'rev_4dp74clbi4o3b7tm3aztdxbsau', 12, 'upsert', '2026-11-30 19:35:01.249773+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (13, 'chk_fsiwsueflurylyzxcrehdvmbou', 'rev_4dp74clbi4o3b7tm3aztdxbsau', 13, 'upsert', '2026-11-30 19:35:01.24981+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (14, 'chk_26br6bndfifc427uzxuq3xmfgy', 'rev_w547dbatjglib7yv35yaan4zki', 14, 'delete', '2026-11-30 19:35:01.322812+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (5, 'chk_b4hcucehrqxyxfbmtjhaeucfsm', 'rev_w547dbatjglib7yv35yaan4zki', 15, 'delete', '2026-11-30 19:35:01.12322+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (16, 'chk_eccz3z7i32gfymzs7cg6ts65ke', 'rev_rl2w2bmaacrv2a44bleqkjbiom', 16, 'upsert', '2026-11-30 19:35:01.449519+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (17, 'chk_xrm4hy6orpwv4jyr2fqisaflay', 'rev_rl2w2bmaacrv2a44bleqkjbiom', 17, 'upsert', '2026-11-30 19:35:01.44957+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (18, 'chk_af3cgylonfovr6qsbmxnd6i4au', 'rev_6aeex656h2rl4ecyphqjyzyrqu', 18, 'delete', '2026-11-30 19:35:01.515073+00', 'harbour', NULL, 0, NULL, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (9, 'chk_mngg6pjwtuc7kuwzg2qfwba734', 'rev_6aeex656h2rl4ecyphqjyzyrqu', 19, 'delete', '2026-11-30 19:35:01.12324+00', 'harbour', NULL, 0, NULL, NULL, NULL);


--
-- Data for Name: outbox_of_generation; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: rebuilds; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: receipts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: reconciliations; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: revisions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.revisions VALUES ('rev_kartlu2s4bovvyeyadbpkietpu', 'doc_zkml7fps3t7ez2mrq2rtnik7ge', 'harbour', NULL, NULL, 'document', 'docs', 'install.md', '1.0', '1.0', 'file:///install.md?1.0', '2ee51ae719902aa915c697a8778c73a7fb476aa97564ac679da9d9a644fba83c', 'text/markdown', 'cda8820e4eae65f745701855476c34445654e7abc767e1ddf0cb335d1a475c56', 'Unpack the archive. Then start the service on port 8730.', 'cda8820e4eae65f745701855476c34445654e7abc767e1ddf0cb335d1a475c56', 'Installing', 'Documentation team', 'en', 'unknown', NULL, '2025-03-01 00:00:00+00', NULL, 'beacon', '1.0', NULL, 0.8, 'CC0', 'clue', '{setup,"100% \\ \"quoted\""}', '{"title": "front_matter", "product": "rule:folder"}', NULL, NULL, NULL, NULL, NULL, 'test-encoder', 'run-1', 2, 'chk_2qrs2ormbzk7utyvoqs4j4dieq', 'visible', false, 1, '2026-05-01 12:00:00+00', NULL, DEFAULT);
INSERT INTO public.revisions VALUES ('rev_24thhlmwkgbdvbv5e3lrpqli44', 'doc_3v67obtt56suf7m7u6c3fqueda', 'harbour', NULL, NULL, 'document', 'docs', 'zh/安装.md', '', '', 'file:///zh/安装.md?', '640ff9830075f30d060bdbcf69644ff329a55a3ef64deb657275a42acad9e88e', 'text/markdown', '339bedc88aa3c4693a272f16ac6a50fd34e347c498cdff3cb83d798dfa9bf6d6', '解压安装包，然后在 8730 端口启动服务。🙂', '339bedc88aa3c4693a272f16ac6a50fd34e347c498cdff3cb83d798dfa9bf6d6', '安装', NULL, 'zh', 'unknown', NULL, NULL, NULL, 'beacon', NULL, NULL, 0, NULL, 'clue', '{}', '{}', NULL, NULL, NULL, NULL, NULL, 'test-encoder', 'run-1', 2, 'chk_a32rckf6xmq5wjoqqytsgn6ray', 'visible', true, 3, '2026-05-01 12:00:00+00', NULL, DEFAULT);
INSERT INTO public.revisions VALUES ('rev_czeej7equssxubqhrfxjxl7g2i', 'doc_cr43kjj6rlsfjzroahmnvf2zki', 'harbour', 'pilot', 'helper', 'turn', 'docs', 'talk/0', '', '', 'file:///talk/0?', '5b72f13baeccd641c9bcdd6e35f9f8335dad230b165793603e1b34e0a6a28a28', 'text/markdown', 'ba8b11697495eea003f183c85ab928496271dae9e80cfb470d3c622d3da4c4da', 'Which port does the service use? 服务用哪个端口？', 'ba8b11697495eea003f183c85ab928496271dae9e80cfb470d3c622d3da4c4da', '', NULL, 'en', 'unknown', NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 'clue', '{}', '{}', 'talk', 'morning', 0, 'user', '2026-05-01 12:00:00+00', 'test-encoder', 'run-1', 1, 'chk_bjmnbqamvjg2bzixo2smvjgtce', 'visible', true, 4, '2026-05-01 12:00:00+00', NULL, DEFAULT);
INSERT INTO public.revisions VALUES ('rev_apfavhkq6r2loxkmxez4otesxa', 'doc_ugzguc2sstzptwgzuy4ubikv2a', 'hangar', NULL, NULL, 'document', 'docs', 'install.md', '1.0', '1.0', 'file:///install.md?1.0', '2ee51ae719902aa915c697a8778c73a7fb476aa97564ac679da9d9a644fba83c', 'text/markdown', 'cda8820e4eae65f745701855476c34445654e7abc767e1ddf0cb335d1a475c56', 'Unpack the archive. Then start the service on port 8730.', 'cda8820e4eae65f745701855476c34445654e7abc767e1ddf0cb335d1a475c56', '', NULL, 'en', 'unknown', NULL, NULL, NULL, NULL, '1.0', NULL, 0, NULL, 'clue', '{}', '{}', NULL, NULL, NULL, NULL, NULL, 'test-encoder', 'run-1', 2, 'chk_ezco5ndzwufyoqruvihe6ce4y4', 'visible', true, 6, '2026-05-01 12:00:00+00', NULL, DEFAULT);
INSERT INTO public.revisions VALUES ('rev_w547dbatjglib7yv35yaan4zki', 'doc_zkml7fps3t7ez2mrq2rtnik7ge', 'harbour', NULL, NULL, 'document', 'docs', 'install.md', '2.0', '2.0', 'file:///install.md?2.0', 'ea2eeae7e748426fa2d65f5a5538f08a5a3d07fa57812eb216a87b559bc8799c', 'text/markdown', '6c4d56e14ae88b32c73fd835236417aa99b63c1e89e01d779a9a2f76aff4a8ac', 'Run two commands. The second one checks the service.', '6c4d56e14ae88b32c73fd835236417aa99b63c1e89e01d779a9a2f76aff4a8ac', 'Installing', NULL, 'en', 'unknown', NULL, NULL, NULL, 'beacon', '2.0', NULL, 0, NULL, 'clue', '{}', '{}', NULL, NULL, NULL, NULL, NULL, 'test-encoder', 'run-1', 2, 'chk_26br6bndfifc427uzxuq3xmfgy', 'superseded', true, 2, '2026-05-01 12:00:00+00', '2026-05-02 00:00:00+00', DEFAULT);
INSERT INTO public.revisions VALUES ('rev_4dp74clbi4o3b7tm3aztdxbsau', 'doc_zkml7fps3t7ez2mrq2rtnik7ge', 'harbour', NULL, NULL, 'document', 'docs', 'install.md', '2.0', '2.0', 'file:///install.md?2.0', '4847d0fde852c0c00fa1168c2b160c3a8c31ade03fce04423de5e6c76898ecc8', 'text/markdown', '0b56a262cbc82247c4ceba6689b00e7249a918b84525a725bcbaef75f303cc26', 'Run one command. It unpacks, starts and checks the service.', '0b56a262cbc82247c4ceba6689b00e7249a918b84525a725bcbaef75f303cc26', 'Installing', NULL, 'en', 'unknown', NULL, NULL, NULL, 'beacon', '2.0', NULL, 0, NULL, 'clue', '{}', '{}', NULL, NULL, NULL, NULL, NULL, 'test-encoder', 'run-1', 2, 'chk_2fr7m24nnme2qwl6wkwrke74um', 'visible', true, 7, '2026-05-02 00:00:00+00', NULL, DEFAULT);
INSERT INTO public.revisions VALUES ('rev_rl2w2bmaacrv2a44bleqkjbiom', 'doc_huezjljvpous3lscuvfqculoj4', 'harbour', NULL, NULL, 'document', 'docs', 'draft.md', '', '', 'file:///draft.md?', 'cc59bceff55ea84d131bf4a018422dc1b7b5d419be729c11cfadd432cda12ae6', 'text/markdown', '103c4fa816e16a1520f1f1aa6088090addb02e4de7b0f2cd219b9ca3c1d3e99c', 'Not yet shown. 尚未发布。', '103c4fa816e16a1520f1f1aa6088090addb02e4de7b0f2cd219b9ca3c1d3e99c', '', NULL, 'en', 'unknown', NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 'clue', '{}', '{}', NULL, NULL, NULL, NULL, NULL, 'test-encoder', 'run-1', 2, 'chk_eccz3z7i32gfymzs7cg6ts65ke', 'pending', true, 8, '2026-05-02 00:00:00+00', NULL, DEFAULT);
INSERT INTO public.revisions VALUES ('rev_6aeex656h2rl4ecyphqjyzyrqu', 'doc_ffq6u4k2ip2kkbmen76rp2ipdq', 'harbour', NULL, NULL, 'document', 'docs', 'gone.md', '', '', 'file:///gone.md?', '3233e2fe3b9a3ce86d56d32516771b77c11180d0215a2ea8a0571177aa7b2203', 'text/markdown', 'b36e90b72aaea7bf3ec374e9eeddbccb1741b9b506b671897d0a74ade5cafa5b', '', 'b36e90b72aaea7bf3ec374e9eeddbccb1741b9b506b671897d0a74ade5cafa5b', '', NULL, 'en', 'unknown', NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 'clue', '{}', '{}', NULL, NULL, NULL, NULL, NULL, 'test-encoder', 'run-1', 2, 'chk_af3cgylonfovr6qsbmxnd6i4au', 'deleted', false, 5, '2026-05-01 12:00:00+00', '2026-11-30 19:35:01.565484+00', DEFAULT);


--
-- Data for Name: run_problems; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.run_problems OVERRIDING SYSTEM VALUE VALUES (1, 'run-1', '0f282d067fb4f485174b82ebf0eafe066089962ab51d7ee1c59b09fe7b7fd057', 'file:///坏的.pdf', 'parse', 'failed', 'broken', '文件损坏');


--
-- Data for Name: runs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.runs VALUES ('run-1', 'harbour', '{"source": "docs", "说明": "首次"}', 'failed', '2026-05-01 12:00:00+00', '2026-05-02 00:00:00+00', '{"failed": 1, "loaded": 7}', '中断');


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.schema_migrations VALUES (1, '0001_ledger.sql', '2026-11-30 19:35:00.248867+00');
INSERT INTO public.schema_migrations VALUES (2, '0002_outbox.pre.sql', '2026-11-30 19:35:00.278253+00');
INSERT INTO public.schema_migrations VALUES (3, '0003_forgetting.pre.sql', '2026-11-30 19:35:00.3889+00');
INSERT INTO public.schema_migrations VALUES (4, '0004_generations.pre.sql', '2026-11-30 19:35:00.462082+00');
INSERT INTO public.schema_migrations VALUES (5, '0005_reconcile.pre.sql', '2026-11-30 19:35:00.509067+00');
INSERT INTO public.schema_migrations VALUES (6, '0006_by_origin.pre.sql', '2026-11-30 19:35:00.554428+00');
INSERT INTO public.schema_migrations VALUES (7, '0007_forget_owner.pre.sql', '2026-11-30 19:35:00.58367+00');
INSERT INTO public.schema_migrations VALUES (8, '0008_token_vectors.pre.sql', '2026-11-30 19:35:00.60664+00');
INSERT INTO public.schema_migrations VALUES (9, '0009_usage.pre.sql', '2026-11-30 19:35:00.690059+00');
INSERT INTO public.schema_migrations VALUES (10, '0010_lookups.pre.sql', '2026-11-30 19:35:00.776313+00');
INSERT INTO public.schema_migrations VALUES (11, '0011_near_copies.pre.sql', '2026-11-30 19:35:00.782594+00');
INSERT INTO public.schema_migrations VALUES (12, '0012_near_copies_index.pre.sql', '2026-11-30 19:35:00.813088+00');


--
-- Data for Name: tenant_writes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tenant_writes OVERRIDING SYSTEM VALUE VALUES ('hangar', 1, 1);
INSERT INTO public.tenant_writes OVERRIDING SYSTEM VALUE VALUES ('harbour', 2, 5);


--
-- Data for Name: tombstones; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: uploads; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.uploads OVERRIDING SYSTEM VALUE VALUES (1, 'run-2', 'harbour', '手册.md', 'text/markdown', '\x00ff206279746573', '{"source": "docs"}');


--
-- Data for Name: usage_counts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_counts VALUES ('chk_a32rckf6xmq5wjoqqytsgn6ray', 'pilot', 'doc_3v67obtt56suf7m7u6c3fqueda', 'harbour', 3);


--
-- Data for Name: usage_events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_events VALUES ('use_ekrpp2ue5tpm363cqywvc5rsxa', 'harbour', 'pilot', 'srch_00000000000000000000000000', 'chk_a32rckf6xmq5wjoqqytsgn6ray', 'doc_3v67obtt56suf7m7u6c3fqueda', 'outdated', '', '2026-05-01 12:00:00+00');
INSERT INTO public.usage_events VALUES ('use_zwjmyjb5vcpbv5nbeodjtjndpq', 'harbour', 'pilot', 'srch_00000000000000000000000000', 'chk_a32rckf6xmq5wjoqqytsgn6ray', 'doc_3v67obtt56suf7m7u6c3fqueda', 'used', '第一章.md', '2026-05-01 12:00:00+00');


--
-- Name: outbox_entry_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.outbox_entry_id_seq', 19, true);


--
-- Name: put_orders; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.put_orders', 8, true);


--
-- Name: rebuilds_rebuild_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.rebuilds_rebuild_id_seq', 1, false);


--
-- Name: reconciliations_reconciliation_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.reconciliations_reconciliation_id_seq', 1, false);


--
-- Name: row_versions; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.row_versions', 19, true);


--
-- Name: run_problems_problem_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.run_problems_problem_id_seq', 1, true);


--
-- Name: tenant_writes_slot_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tenant_writes_slot_seq', 2, true);


--
-- Name: uploads_upload_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.uploads_upload_id_seq', 1, true);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (key_id);


--
-- Name: api_keys api_keys_secret_sha256_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_secret_sha256_key UNIQUE (secret_sha256);


--
-- Name: chunks chunks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_pkey PRIMARY KEY (chunk_id);


--
-- Name: chunks chunks_revision_id_ordinal_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_revision_id_ordinal_key UNIQUE (revision_id, ordinal);


--
-- Name: documents documents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (document_id);


--
-- Name: embeddings embeddings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.embeddings
    ADD CONSTRAINT embeddings_pkey PRIMARY KEY (vector_key, fingerprint);


--
-- Name: forget_jobs forget_jobs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.forget_jobs
    ADD CONSTRAINT forget_jobs_pkey PRIMARY KEY (job_id);


--
-- Name: forget_jobs forget_jobs_receipt_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.forget_jobs
    ADD CONSTRAINT forget_jobs_receipt_id_key UNIQUE (receipt_id);


--
-- Name: forget_key forget_key_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.forget_key
    ADD CONSTRAINT forget_key_pkey PRIMARY KEY (only_one);


--
-- Name: forget_work forget_work_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.forget_work
    ADD CONSTRAINT forget_work_pkey PRIMARY KEY (job_id, part);


--
-- Name: generations generations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.generations
    ADD CONSTRAINT generations_pkey PRIMARY KEY (fingerprint);


--
-- Name: outbox outbox_entry_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_entry_id_key UNIQUE (entry_id);


--
-- Name: outbox_of_generation outbox_of_generation_entry_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox_of_generation
    ADD CONSTRAINT outbox_of_generation_entry_id_key UNIQUE (entry_id);


--
-- Name: outbox_of_generation outbox_of_generation_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox_of_generation
    ADD CONSTRAINT outbox_of_generation_pkey PRIMARY KEY (chunk_id, target);


--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (chunk_id);


--
-- Name: rebuilds rebuilds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rebuilds
    ADD CONSTRAINT rebuilds_pkey PRIMARY KEY (rebuild_id);


--
-- Name: receipts receipts_job_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT receipts_job_id_key UNIQUE (job_id);


--
-- Name: receipts receipts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (receipt_id);


--
-- Name: reconciliations reconciliations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reconciliations
    ADD CONSTRAINT reconciliations_pkey PRIMARY KEY (reconciliation_id);


--
-- Name: revisions revisions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_pkey PRIMARY KEY (revision_id);


--
-- Name: run_problems run_problems_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_problems
    ADD CONSTRAINT run_problems_pkey PRIMARY KEY (problem_id);


--
-- Name: run_problems run_problems_run_id_item_key_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_problems
    ADD CONSTRAINT run_problems_run_id_item_key_key UNIQUE (run_id, item_key);


--
-- Name: runs runs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (name);


--
-- Name: tenant_writes tenant_writes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tenant_writes
    ADD CONSTRAINT tenant_writes_pkey PRIMARY KEY (tenant, slot);


--
-- Name: tombstones tombstones_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (mark, receipt_id);


--
-- Name: uploads uploads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uploads_pkey PRIMARY KEY (run_id);


--
-- Name: uploads uploads_upload_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uploads_upload_id_key UNIQUE (upload_id);


--
-- Name: usage_counts usage_counts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_counts
    ADD CONSTRAINT usage_counts_pkey PRIMARY KEY (chunk_id, owner);


--
-- Name: usage_events usage_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_events
    ADD CONSTRAINT usage_events_pkey PRIMARY KEY (event_id);


--
-- Name: chunks_by_band; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX chunks_by_band ON public.chunks USING gin (bands) WITH (fastupdate=off) WHERE (bands IS NOT NULL);


--
-- Name: chunks_by_heading; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX chunks_by_heading ON public.chunks USING btree (public.folded_name(heading_path[cardinality(heading_path)])) WHERE (cardinality(heading_path) > 0);


--
-- Name: chunks_by_vector; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX chunks_by_vector ON public.chunks USING btree (vector_key);


--
-- Name: forget_jobs_by_selector; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX forget_jobs_by_selector ON public.forget_jobs USING btree (tenant, selector, asked_at);


--
-- Name: forget_jobs_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX forget_jobs_open ON public.forget_jobs USING btree (asked_at) WHERE (state <> 'finished'::text);


--
-- Name: generations_one_active; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX generations_one_active ON public.generations USING btree (active) WHERE active;


--
-- Name: generations_one_of_a_kind; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX generations_one_of_a_kind ON public.generations USING btree (state) WHERE (state = ANY (ARRAY['building'::text, 'grace'::text]));


--
-- Name: lineage_by_document; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX lineage_by_document ON public.lineage USING btree (document_id);


--
-- Name: lineage_by_support; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX lineage_by_support ON public.lineage USING btree (tenant, hashtextextended(support, (0)::bigint));


--
-- Name: lineage_once; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX lineage_once ON public.lineage USING btree (revision_id, hashtextextended(support, (0)::bigint));


--
-- Name: outbox_by_revision; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX outbox_by_revision ON public.outbox USING btree (revision_id);


--
-- Name: outbox_by_tenant; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX outbox_by_tenant ON public.outbox USING btree (tenant, entry_id);


--
-- Name: rebuilds_one_open; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX rebuilds_one_open ON public.rebuilds USING btree (((finished_at IS NULL))) WHERE (finished_at IS NULL);


--
-- Name: revisions_by_moment; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_by_moment ON public.revisions USING btree (tenant, moment DESC, first_chunk_id) WHERE ((state = 'visible'::text) AND (moment IS NOT NULL));


--
-- Name: revisions_by_origin; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_by_origin ON public.revisions USING btree (tenant, hashtextextended(origin, (0)::bigint)) WHERE (state = ANY (ARRAY['pending'::text, 'visible'::text]));


--
-- Name: revisions_by_session; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_by_session ON public.revisions USING btree (tenant, hashtextextended(conversation, (0)::bigint), hashtextextended(session, (0)::bigint), turn_ordinal, document_id) WHERE ((state = 'visible'::text) AND (kind = 'turn'::text));


--
-- Name: revisions_by_tag; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_by_tag ON public.revisions USING gin (tags) WHERE ((state = 'visible'::text) AND (tags <> '{}'::text[]));


--
-- Name: revisions_by_title; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_by_title ON public.revisions USING btree (tenant, public.folded_name(title)) WHERE ((state = 'visible'::text) AND (title <> ''::text));


--
-- Name: revisions_by_turn; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_by_turn ON public.revisions USING btree (tenant, hashtextextended(session, (0)::bigint)) WHERE ((state = 'visible'::text) AND (kind = 'turn'::text));


--
-- Name: revisions_in_order; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_in_order ON public.revisions USING btree (tenant, document_id, edition_key, edition) WHERE (state = 'visible'::text);


--
-- Name: revisions_of_document; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_of_document ON public.revisions USING btree (document_id);


--
-- Name: revisions_pending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX revisions_pending ON public.revisions USING btree (put_order) WHERE (state = 'pending'::text);


--
-- Name: revisions_shown; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX revisions_shown ON public.revisions USING btree (document_id, edition) WHERE (state = 'visible'::text);


--
-- Name: runs_latest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX runs_latest ON public.runs USING btree (tenant, started_at DESC, run_id DESC);


--
-- Name: tombstones_of_tenant; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tombstones_of_tenant ON public.tombstones USING btree (tenant, receipt_id);


--
-- Name: usage_counts_by_document; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_counts_by_document ON public.usage_counts USING btree (document_id);


--
-- Name: usage_counts_by_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_counts_by_owner ON public.usage_counts USING btree (tenant, owner) WHERE (owner <> ''::text);


--
-- Name: usage_events_by_chunk; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_events_by_chunk ON public.usage_events USING btree (chunk_id);


--
-- Name: usage_events_by_document; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_events_by_document ON public.usage_events USING btree (document_id, chunk_id);


--
-- Name: usage_events_by_tenant; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_events_by_tenant ON public.usage_events USING btree (tenant, owner);


--
-- Name: revisions revisions_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER revisions_changed AFTER UPDATE ON public.revisions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_revisions();


--
-- Name: revisions revisions_removed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER revisions_removed AFTER DELETE ON public.revisions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_revisions();


--
-- Name: chunks chunks_revision_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_revision_id_fkey FOREIGN KEY (revision_id) REFERENCES public.revisions(revision_id);


--
-- Name: forget_work forget_work_job_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.forget_work
    ADD CONSTRAINT forget_work_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.forget_jobs(job_id) ON DELETE CASCADE;


--
-- Name: lineage lineage_revision_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lineage
    ADD CONSTRAINT lineage_revision_id_fkey FOREIGN KEY (revision_id) REFERENCES public.revisions(revision_id) ON DELETE CASCADE;


--
-- Name: revisions revisions_document_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.documents(document_id);


--
-- PostgreSQL database dump complete
--


