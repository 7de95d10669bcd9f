-- How far the outputs of a measured kernel were from the float64 reference.
ALTER TABLE record ADD COLUMN max_error REAL;  -- Largest |out - reference|; NULL: it was not checked, or was before this step.
